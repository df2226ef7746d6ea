/* Nothing is read from a process that is not a target, not even its first message. */
#include "cli/gpu/gpu_guests.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "gpu/region/link.h"
#include "sampler/selection/admission.h"

#define MAX_GUESTS 64
#define MAX_AT_ONCE 64 /* connections in one round; the others wait */
#define MAX_SAID 5     /* warnings of processes that could not hand over their data */
#define HELLO_NS (1000ull * 1000 * 1000)

struct guest {
	int fd;
	pid_t pid;
	uint64_t until_ns; /* when it is refused */
};

struct gpu_guests {
	char name[GPU_LINK_NAME_SIZE];
	int listener;
	struct admission *admission;
	struct guest waiting[MAX_GUESTS];
	size_t nr_waiting, nr_failed; /* failed: admitted, but handed over no memory */
};

int gpu_guests_new(struct gpu_guests **ret)
{
	struct gpu_guests *g = xcalloc(1, sizeof(*g));
	int err;

	g->listener = gpu_link_listen(g->name);
	if (g->listener < 0) {
		err = g->listener;
		free(g);
		return err;
	}
	g->admission = admission_new("SPROF_GPU_TICKET");
	*ret = g;
	return 0;
}

void gpu_guests_free(struct gpu_guests *g)
{
	if (!g)
		return;
	while (g->nr_waiting)
		close(g->waiting[--g->nr_waiting].fd);
	admission_free(g->admission);
	close(g->listener);
	free(g);
}

void gpu_guests_expect(struct gpu_guests *g, pid_t pid)
{
	admission_add(g->admission, pid);
}

const char *gpu_guests_name(const struct gpu_guests *g)
{
	return g->name;
}

const char *gpu_guests_ticket(const struct gpu_guests *g)
{
	return admission_ticket(g->admission);
}

size_t gpu_guests_waiting(const struct gpu_guests *g)
{
	return g->nr_waiting;
}

static void accept_some(struct gpu_guests *g)
{
	for (int i = 0; i < MAX_AT_ONCE; i++) {
		struct guest guest = { .until_ns = monotonic_ns() + HELLO_NS };
		uid_t uid = 0;

		guest.fd = gpu_link_accept(g->listener, &guest.pid, &uid);
		if (guest.fd == -EPROTO)
			continue;
		if (guest.fd < 0)
			return;
		if (g->nr_waiting == MAX_GUESTS)
			admission_count_refusal(g->admission);
		else if (admission_admits(g->admission, guest.fd, guest.pid, uid)) {
			g->waiting[g->nr_waiting++] = guest;
			continue;
		}
		close(guest.fd);
	}
}

static void refuse(struct gpu_guests *g, const struct guest *guest, int err)
{
	if (g->nr_failed++ < MAX_SAID)
		log_warning("process %d could not hand over its GPU data: %s", (int)guest->pid,
			    strerror(-err));
	close(guest->fd);
}

void gpu_guests_serve(struct gpu_guests *g,
		      void (*take)(void *context, const struct gpu_peer *peer), void *context)
{
	size_t kept = 0;

	accept_some(g);
	for (size_t i = 0; i < g->nr_waiting; i++) {
		const struct guest guest = g->waiting[i];
		struct gpu_peer peer;
		int err = gpu_link_meet(guest.fd, guest.pid, &peer);

		if (!err)
			take(context, &peer);
		else if (err == -EAGAIN && monotonic_ns() < guest.until_ns)
			g->waiting[kept++] = guest;
		else
			refuse(g, &guest, err == -EAGAIN ? -ETIMEDOUT : err);
	}
	g->nr_waiting = kept;
}

void gpu_guests_report(const struct gpu_guests *g)
{
	admission_report(g->admission, "with GPU data");
	if (g->nr_failed > MAX_SAID)
		log_warning("%zu more processes could not hand over their GPU data",
			    g->nr_failed - MAX_SAID);
}
