/*
 * A loss is counted at once, but half of it may still be to come: an exec is reported by the ring
 * and by the side band, and the half that was not lost waits in the queue. So processes are
 * compared only once the queue has been handled up to the moment at which the loss was seen.
 */
#include "sampler/ebpf/resync.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/ebpf_targets.h"
#include "sampler/ebpf/kernel_side.h"

#define RESYNC_NS (1000ull * 1000 * 1000)
#define LOOK_NS (250ull * 1000 * 1000)

void ebpf_saw_image(struct ebpf_targets *t, struct process *p, uint32_t exec_id)
{
	struct ebpf_process *own = ebpf_own(p);
	bool missed = own->exec_id != EXEC_ID_ANY && own->exec_id != exec_id;

	if (p->exec_pending) /* the event of this exec is still to come */
		return;
	own->exec_id = exec_id;
	if (!missed)
		return;
	process_unmap_all(p);
	p->read_ns = 0;
	ebpf_reread(t, p);
}

static void compare_process(struct ebpf_targets *t, struct process *p)
{
	struct proc_status status = { 0 };
	struct process_entry entry;

	if (p->ended_ns)
		return;
	if (proc_status_read(p->pid, &status) == -ESRCH ||
	    (status.ended && status.nr_threads <= 1)) {
		p->ended_ns = monotonic_ns();
		ebpf_attend(t, p);
		return;
	}
	p->dirty = true;
	ebpf_attend(t, p);
	if (kernel_side_get_process(t->kernel, p->pid, &entry))
		return;
	/* The kernel side empties the entry at an exec. */
	if (p->exec_pending || entry.nr_maps != ebpf_nr_published(p))
		ebpf_own(p)->exec_id = ~entry.exec_id;
	p->exec_pending = false;
	ebpf_saw_image(t, p, entry.exec_id);
	ebpf_reread(t, p);
}

/* Adds the processes that the kernel side follows since a fork whose event was lost. */
static void find_children(struct ebpf_targets *t)
{
	uint32_t *pids;
	size_t nr = kernel_side_list_processes(t->kernel, &pids);

	for (size_t i = 0; i < nr; i++) {
		struct process_entry entry;
		struct process *p;

		if (!ebpf_find_process(t, (pid_t)pids[i]) &&
		    !kernel_side_get_process(t->kernel, (pid_t)pids[i], &entry))
			ebpf_process(t, (pid_t)pids[i], entry.exec_id, &p);
	}
	free(pids);
}

/* Has an event been lost since it was asked the last time? */
static bool has_lost(struct ebpf_resync *r, const struct ebpf_targets *t, uint64_t now)
{
	uint64_t nr_lost = r->nr_lost;

	if (now >= r->look_ns) {
		nr_lost = kernel_side_counter(t->kernel, COUNTER_EVENTS_LOST);
		r->look_ns = now + LOOK_NS;
	}
	if (nr_lost == r->nr_lost)
		return false;
	r->nr_lost = nr_lost;
	return true;
}

void ebpf_resync(struct ebpf_resync *r, struct ebpf_targets *t, uint64_t handled_ns)
{
	uint64_t now = monotonic_ns();

	if (!r->due_ns && has_lost(r, t, now))
		r->due_ns = now;
	if (!r->due_ns || handled_ns < r->due_ns || now - r->done_ns < RESYNC_NS)
		return;
	r->due_ns = 0;
	r->done_ns = now;
	for (struct process *p = t->processes; p; p = p->hh.next)
		compare_process(t, p);
	find_children(t);
}
