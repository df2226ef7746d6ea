/*
 * A third object of its own: a waking may interrupt the walk of a wait, which may have interrupted
 * nothing but user code. The table of waiting threads is the one of waiting.bpf.c.
 */
#include "sampler/waiting/wakers_side.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/bpf/waiting.skel.h"
#include "sampler/bpf/wakers.skel.h"
#include "sampler/waiting/program_cost.h"
#include "sampler/waiting/shared_maps.h"

struct wakers_side {
	struct wakers_bpf *skel;
	struct bpf_link *link;
};

static void copy_settings(struct wakers_bpf *skel, const struct sprof_bpf *main)
{
	struct wakers_bpf__rodata *to = skel->rodata;
	const struct sprof_bpf__rodata *from = main->rodata;
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();

	SHARED_SETTINGS(to, from);
	to->first_giver = 2 * nr_cpus;
	bpf_map__set_max_entries(skel->maps.states, nr_cpus);
	bpf_map__set_max_entries(skel->maps.code_buffers, nr_cpus);
}

int wakers_side_new(const struct sprof_bpf *main, const struct waiting_bpf *waiting,
		    struct wakers_side **ret)
{
	struct wakers_side *w = xcalloc(1, sizeof(*w));
	int err;

	w->skel = wakers_bpf__open();
	err = w->skel ? shared_maps_of_walks(w->skel->obj, main->obj) : -errno;
	err = err ? err : shared_map(w->skel->obj, waiting->obj, "waiters");
	err = err ? err : shared_map(w->skel->obj, waiting->obj, "places");
	if (!err) {
		copy_settings(w->skel, main);
		err = wakers_bpf__load(w->skel);
	}
	if (err)
		wakers_side_free(w);
	else
		*ret = w;
	return err;
}

void wakers_side_free(struct wakers_side *w)
{
	if (!w)
		return;
	wakers_side_stop(w);
	wakers_bpf__destroy(w->skel);
	free(w);
}

int wakers_side_start(struct wakers_side *w)
{
	w->link = bpf_program__attach(w->skel->progs.at_waking);
	return w->link ? 0 : -errno;
}

void wakers_side_stop(struct wakers_side *w)
{
	bpf_link__destroy(w->link);
	w->link = NULL;
}

uint64_t wakers_side_cost_ns(const struct wakers_side *w)
{
	return w ? program_cost_ns(w->skel->obj) : 0;
}

uint64_t wakers_side_memory_bytes(const struct wakers_side *w, const struct bpf_object *main)
{
	return w ? program_memory_bytes(w->skel->obj, main) : 0;
}
