/*
 * A process is entered into the kernel side's map before its mappings are read from /proc: from
 * then on its execs and its exit are reported, so nothing is missed in between. Events that are
 * older than that reading are skipped. A process that has ended stays for a moment, because samples
 * of it may still be in the queue.
 */
#include "sampler/ebpf/ebpf_targets.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/ebpf_python.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/target/proc_maps.h"
#include "sampler/release/process_prune.h"
#include "sampler/selection/process_user.h"
#include "sampler/target/sideband.h"
#include "sampler/walk/expected_code.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/stack_tables.h"

#define GRACE_NS (1000ull * 1000 * 1000)
#define REREAD_NS (20ull * 1000 * 1000)
#define MAX_LOOKS 8 /* at mappings of processes, in one round */
#define MAX_REREAD_NS (2000ull * 1000 * 1000)
#define REREAD_PART 20 /* reading the mappings of a process takes at most 1/20 of the time */
#define ALL_NS (5000ull * 1000 * 1000)
#define BUSY_MS 100 /* between two rounds where not all is calm */
#define CALM_NS (1000ull * 1000 * 1000)

void ebpf_targets_init(struct ebpf_targets *t, struct kernel_side *kernel, struct ebpf_files *files,
		       struct ebpf_pythons *pythons, struct limits *limits)
{
	*t = (struct ebpf_targets){ .kernel = kernel, .files = files, .pythons = pythons };
	ebpf_publisher_init(&t->publisher, kernel, files, limits);
}

void ebpf_attend(struct ebpf_targets *t, struct process *p)
{
	struct ebpf_process *own = ebpf_own(p);

	if (!own->attended)
		DL_APPEND(t->attended, own);
	own->attended = true;
}

static void neglect(struct ebpf_targets *t, struct process *p)
{
	struct ebpf_process *own = ebpf_own(p);

	if (own->attended)
		DL_DELETE(t->attended, own);
	own->attended = false;
}

static struct process *add_process(struct ebpf_targets *t, pid_t pid, uint32_t exec_id)
{
	struct process *p = xcalloc(1, sizeof(struct ebpf_process));

	p->pid = pid;
	ebpf_own(p)->exec_id = exec_id;
	process_new_epoch(p);
	HASH_ADD_INT(t->processes, pid, p);
	ebpf_attend(t, p);
	t->started_ns = monotonic_ns();
	return p;
}

static void remove_process(struct ebpf_targets *t, struct process *p)
{
	ebpf_retire_maps(&t->publisher, p);
	neglect(t, p);
	HASH_DEL(t->processes, p);
	process_fini(p);
	free(p);
}

void ebpf_targets_fini(struct ebpf_targets *t)
{
	struct process *p, *next;

	HASH_ITER (hh, t->processes, p, next)
		remove_process(t, p);
	ebpf_publisher_fini(&t->publisher);
}

struct process *ebpf_find_process(const struct ebpf_targets *t, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(t->processes, &pid, p);
	return p;
}

static int read_maps(struct ebpf_targets *t, struct process *p)
{
	int err;

	p->wants_reading = false;
	p->read_ns = monotonic_ns();
	err = process_read_maps(p, t->files->table, ebpf_files_add, t->files);
	p->read_cost_ns = monotonic_ns() - p->read_ns;
	return err;
}

static void publish(struct ebpf_targets *t, struct process *p)
{
	ebpf_pythons_update(t->pythons, p, t->processes);
	ebpf_publish_maps(&t->publisher, p);
}

void ebpf_publish_first(struct ebpf_targets *t, struct process *p)
{
	if (!ebpf_own(p)->region && p->dirty && !p->exec_pending)
		publish(t, p);
}

int ebpf_process(struct ebpf_targets *t, pid_t pid, uint32_t exec_id, struct process **ret_process)
{
	struct process *p = ebpf_find_process(t, pid);
	int err;

	*ret_process = p;
	if (p) {
		ebpf_attend(t, p);
		return 0;
	}
	p = add_process(t, pid, exec_id);
	p->user = process_user(pid, USER_NOBODY);
	p->known_ns = monotonic_ns();
	ebpf_publish_entry(&t->publisher, p);
	err = read_maps(t, p);
	if (err) {
		kernel_side_forget_process(t->kernel, pid);
		remove_process(t, p);
		return err;
	}
	p->look.nr_maps = p->nr_maps; /* which saves process_prune() a look */
	publish(t, p);
	*ret_process = p;
	return 0;
}

/* Until its exec, what the process maps is sprof's own. */
void ebpf_launched(struct ebpf_targets *t, pid_t pid)
{
	struct process *p = add_process(t, pid, EXEC_ID_NOT_YET);

	p->user = process_user(pid, USER_NOBODY);
	p->known_ns = monotonic_ns();
	p->exec_pending = true;
	ebpf_publish_entry(&t->publisher, p);
}

void ebpf_reread(struct ebpf_targets *t, struct process *p)
{
	uint64_t wait = p->read_cost_ns * REREAD_PART;

	/* The first reading, which opens the files, costs far more than those after it. */
	wait = wait < REREAD_NS ? REREAD_NS : wait > MAX_REREAD_NS ? MAX_REREAD_NS : wait;
	p->wants_reading = true;
	ebpf_attend(t, p);
	if (!p->ended_ns && !p->exec_pending && monotonic_ns() - p->read_ns >= wait)
		read_maps(t, p);
}

void ebpf_on_fork(struct ebpf_targets *t, const struct fork_event *e)
{
	struct process *parent = ebpf_find_process(t, (pid_t)e->header.tgid);
	struct process *child = ebpf_find_process(t, (pid_t)e->child);

	if (!parent)
		return;
	if (child) /* of an earlier process with that pid; its entry is the new child's by now */
		remove_process(t, child);
	child = add_process(t, (pid_t)e->child, e->exec_id);
	child->user = parent->user;
	child->maps = xmalloc(parent->nr_maps * sizeof(*child->maps));
	if (parent->nr_maps)
		memcpy(child->maps, parent->maps, parent->nr_maps * sizeof(*child->maps));
	child->nr_maps = child->capacity = parent->nr_maps;
	child->dirty = parent->dirty;
	if (!parent->look.nr_absent)
		child->look.nr_maps = parent->look.nr_maps;
	ebpf_own(child)->python = ebpf_own(parent)->python;
	runtime_regions_copy(&child->runtime, &parent->runtime);
	ebpf_share_maps(child, parent);
	if (ebpf_own(child)->region)
		ebpf_publish_entry(&t->publisher, child);
}

void ebpf_on_exec(struct ebpf_targets *t, const struct exec_event *e)
{
	struct process *p = ebpf_find_process(t, (pid_t)e->header.tgid);

	if (!p)
		return;
	ebpf_attend(t, p);
	t->started_ns = monotonic_ns();
	ebpf_own(p)->exec_id = e->exec_id;
	ebpf_retire_maps(&t->publisher, p);	 /* of the program before */
	p->user = process_user(p->pid, p->user); /* of a set-user-ID program */
	p->dirty = true;
	if (!p->exec_pending) { /* the side band's record of this exec was lost */
		process_unmap_all(p);
		read_maps(t, p);
	}
	p->exec_pending = false;
}

void ebpf_on_exit(struct ebpf_targets *t, const struct exit_event *e)
{
	struct process *p = ebpf_find_process(t, (pid_t)e->header.tgid);

	if (!p) { /* a process whose mappings could not be read */
		kernel_side_forget_process(t->kernel, (pid_t)e->header.tgid);
		return;
	}
	p->ended_ns = e->header.time_ns;
	ebpf_attend(t, p);
}

void ebpf_on_sideband(struct ebpf_targets *t, const struct sideband_record *r)
{
	struct process *p = ebpf_find_process(t, r->pid);
	struct mapping m;

	if (r->type == SIDEBAND_LOST) {
		for (p = t->processes; p; p = p->hh.next)
			ebpf_reread(t, p);
		return;
	}
	/* What happened before known_ns was seen in /proc. */
	if (!p || r->time_ns < p->known_ns)
		return;
	ebpf_attend(t, p);
	if (r->type == SIDEBAND_EXEC) {
		process_unmap_all(p);
		p->exec_pending = true;
		return;
	}
	m = (struct mapping){
		.start = r->start,
		.end = r->start + r->length,
		.pgoff = r->pgoff,
		.code = ebpf_files_mapped(t->files, p, r),
		.stack = mapping_is_stack(r->path),
	};
	if (m.code && m.end > m.start)
		process_map(p, &m);
}

/* Is it to be looked at in the next round, too? All others may wait for ALL_NS. */
static bool needs_attention(const struct process *p, uint64_t now)
{
	return p->ended_ns || p->dirty || p->wants_reading || p->nr_covered || p->runtime.nr ||
	       p->runtime.nr_past || ebpf_own(p)->nr_snapshots >= MAX_FIRST_SNAPSHOTS ||
	       process_prune_is_due(p, now + ALL_NS);
}

static void poll_process(struct ebpf_targets *t, struct process *p, uint64_t now, int *nr_looks)
{
	ebpf_allow_snapshots(&t->publisher, p, now);
	if (p->wants_reading)
		ebpf_reread(t, p);
	if (p->nr_covered && !p->ended_ns)
		process_check_covered(p);
	if (*nr_looks < MAX_LOOKS && process_prune_is_due(p, now)) {
		process_prune(p, now);
		++*nr_looks;
	}
	runtime_unwind_look(t->files->runtime, p, now);
	if (p->dirty && !p->exec_pending)
		publish(t, p);
}

void ebpf_targets_poll(struct ebpf_targets *t)
{
	uint64_t now = monotonic_ns();
	struct ebpf_process *own, *next;
	int nr_looks = 0;

	ebpf_files_poll(t->files, now);
	ebpf_free_retired(&t->publisher, now);
	if (now >= t->all_ns) {
		/* What is not written is not copied either while a child shares our memory. */
		for (struct process *p = t->processes; p; p = p->hh.next)
			if (needs_attention(p, now))
				ebpf_attend(t, p);
		t->all_ns = now + ALL_NS;
	}
	DL_FOREACH_SAFE(t->attended, own, next)
	{
		struct process *p = &own->process;

		if (p->ended_ns && now > p->ended_ns + GRACE_NS && now > own->late_until_ns) {
			kernel_side_forget_process(t->kernel, p->pid);
			remove_process(t, p);
			continue;
		}
		poll_process(t, p, now, &nr_looks);
		if (!needs_attention(p, now))
			neglect(t, p);
	}
	/* After the tables are published: none of them names a file that no process maps. */
	ebpf_files_release(t->files, t->processes, now);
}

/* What started a moment ago may end soon: its files and what /proc says of it are read before. */
int ebpf_targets_timeout_ms(const struct ebpf_targets *t, int timeout_ms)
{
	bool calm = !t->attended && !t->kernel->waiting && !t->kernel->syscalls &&
		    monotonic_ns() - t->started_ns > CALM_NS;

	return calm || timeout_ms < BUSY_MS ? timeout_ms : BUSY_MS;
}

void ebpf_order_tables(struct ebpf_targets *t)
{
	size_t left = STACK_TABLES_MAX;

	for (struct process *p = t->processes; p && left; p = p->hh.next) {
		left -= stack_tables_first(p, t->files->builder, left);
		expected_code_note(t->files->runtime, p, monotonic_ns());
	}
}
