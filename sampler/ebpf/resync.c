/*
 * When the ring was full, forks, execs and exits went missing: what the recorder knows of the
 * processes is compared with what the kernel side and /proc say.
 */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/ebpf/ebpf.h"
#include "core/base/proc_status.h"

#define RESYNC_NS (1000ull * 1000 * 1000)

void ebpf_saw_image(struct source *s, struct process *p, uint32_t exec_id)
{
	struct ebpf_process *own = ebpf_own(p);
	bool missed = own->exec_id != EXEC_ID_ANY && own->exec_id != exec_id;

	if (p->exec_pending) /* it is being told */
		return;
	own->exec_id = exec_id;
	if (!missed)
		return;
	process_unmap_all(p);
	p->read_ns = 0;
	ebpf_reread(s, p);
}

static void resync_process(struct source *s, struct process *p)
{
	const struct map_region *region = ebpf_own(p)->region;
	uint32_t key = (uint32_t)p->pid, nr_maps = region ? region->nr : 0;
	struct process_entry entry;
	struct proc_status status = { 0 };

	if (p->ended_ns)
		return;
	if (proc_status_read(p->pid, &status) == -ESRCH ||
	    (status.ended && status.nr_threads <= 1)) {
		p->ended_ns = monotonic_ns();
		return;
	}
	p->dirty = true;
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.processes), &key, &entry))
		return;
	/* An exec empties the entry. */
	if (p->exec_pending || entry.nr_maps != nr_maps)
		ebpf_own(p)->exec_id = ~entry.exec_id;
	p->exec_pending = false;
	ebpf_saw_image(s, p, entry.exec_id);
	ebpf_reread(s, p);
}

/* Processes that the kernel side follows since a fork that we were not told of. */
static void find_children(struct source *s)
{
	int map = bpf_map__fd(s->skel->maps.processes);
	uint32_t *keys = NULL, key, *before = NULL;
	size_t nr = 0, capacity = 0;

	while (!bpf_map_get_next_key(map, before, &key)) {
		keys = xgrow(keys, &capacity, nr + 1, sizeof(*keys));
		keys[nr++] = key;
		before = &key;
	}
	for (size_t i = 0; i < nr; i++) {
		struct process_entry entry;
		struct process *p;

		if (!ebpf_find_process(s, (pid_t)keys[i]) &&
		    !bpf_map_lookup_elem(map, &keys[i], &entry))
			ebpf_process(s, (pid_t)keys[i], entry.exec_id, &p);
	}
	free(keys);
}

/*
 * What was lost is known at once, but half of it may still be to come: an exec is told twice, by the
 * ring and beside it, and the half that was not lost waits in the queue. So the comparison is due
 * when the queue has been handled up to the moment at which the loss was seen.
 */
void ebpf_resync(struct source *s, uint64_t nr_lost, uint64_t handled_ns)
{
	uint64_t now = monotonic_ns();
	struct process *p;

	if (!s->resync_due_ns && nr_lost != s->nr_events_lost) {
		s->nr_events_lost = nr_lost;
		s->resync_due_ns = now;
	}
	if (!s->resync_due_ns || handled_ns < s->resync_due_ns || now - s->resync_ns < RESYNC_NS)
		return;
	s->resync_due_ns = 0;
	s->resync_ns = now;
	for (p = s->processes; p; p = p->hh.next)
		resync_process(s, p);
	find_children(s);
}
