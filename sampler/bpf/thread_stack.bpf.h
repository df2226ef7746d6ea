/*
 * What every program that samples the running thread does around the walk: it takes the registers
 * and the process's tables before, and the stack's key and the stack record after it. The caller
 * owns the walk_state; nothing else may use it meanwhile.
 */
#ifndef SPROF_THREAD_STACK_BPF_H
#define SPROF_THREAD_STACK_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/portable/walk.h"
#include "sampler/bpf/events.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/python.bpf.h"
#include "sampler/bpf/regs_x86_64.bpf.h"
#include "sampler/bpf/root_end.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/walker.bpf.h"

#define EEXIST 17

/*
 * The pc of the thread, also while it steps over a probe, ours or another tool's: the kernel runs
 * an instruction that it cannot emulate from a copy (in [uprobes]), where no function lies.
 */
static __always_inline __u64 original_pc(struct task_struct *task, __u64 pc)
{
	struct uprobe_task *u;
	__u64 distance;

	if (!bpf_core_field_exists(task->utask))
		return pc;
	u = task->utask;
	if (!u || !u->active_uprobe)
		return pc;
	distance = pc - u->xol_vaddr;
	return distance < MAX_INSTRUCTION ? u->vaddr + distance : pc;
}

/*
 * Takes the user registers of the running thread, which is inside the kernel. 1: there is a user
 * stack to walk; 0: there is none, and st->end says why.
 */
__noinline int take_user_regs(struct walk_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *user;

	if (!st)
		return 0;
	/* In a buffer that is not used yet: the functions of a walk share 512 bytes of stack. */
	user = (struct pt_regs *)st->window;
	/* A kernel thread, or the end of exit: there is no user memory. */
	if ((task->flags & PF_KTHREAD) || !task->mm)
		goto no_user;
	if (bpf_probe_read_kernel(user, sizeof(*user), (void *)bpf_task_pt_regs(task)))
		goto no_user;
	if (regs_are_32bit(user)) {
		st->end = END_COMPAT;
		return 0;
	}
	if (!regs_are_user(user))
		goto no_user;
	take_regs(&st->regs, user);
	st->regs.pc = original_pc(task, st->regs.pc);
	st->regs.exact = regs_pc_is_exact(user);
	return 1;
no_user:
	st->end = END_NO_USER;
	return 0;
}

/* Fills in what all samples say whose stack was sent; the caller adds what only its own say. */
static __always_inline void begin_sample(struct sample_event *e, const struct walk_state *st,
					 __u32 type, __u64 weight_ns)
{
	e->header = st->event.header;
	e->header.type = type;
	e->key = st->hash;
	e->weight_ns = weight_ns;
	e->tid = (__u32)bpf_get_current_pid_tgid();
	e->gil = st->py.gil;
	e->event = 0;
	e->running = 0;
	bpf_get_current_comm(e->comm, COMM_SIZE);
}

/* Sends the stack unless its key is in the slot table. 0: the ring has no room for it. */
static __always_inline int send_stack(struct walk_state *st)
{
	__u32 slot = st->hash & (STACK_SLOTS - 1);
	__u64 *seen = bpf_map_lookup_elem(&stack_slots, &slot);
	__u64 nr;

	if (!seen)
		return 0;
	if (*seen == st->hash)
		return 1;
	st->event.key = st->hash;
	st->event.nr_total = st->nr_user;
	st->event.nr_user = st->nr_user < MAX_USER_FRAMES ? st->nr_user : MAX_USER_FRAMES;
	st->event.end = st->end;
	st->event.python_broken = py_runs_broken(&st->py);
	nr = st->event.nr_kernel + st->event.nr_user + st->event.nr_joined;
	if (nr > MAX_KERNEL_FRAMES + MAX_USER_FRAMES + MAX_JOINED_FRAMES)
		return 0;
	if (st->event.nr_joined)
		append_root_end(st);
	if (bpf_ringbuf_output(&ring, &st->event, sizeof(st->event) + nr * 8, BPF_RB_NO_WAKEUP))
		return 0;
	*seen = st->hash;
	return 1;
}

/* Takes the map table of the process if it belongs to the program image that runs now. */
static __always_inline void take_process(struct walk_state *st, struct process_entry *p)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 exec_id = (__u32)task->self_exec_id;

	st->nr_maps = st->table = 0;
	st->map_start = st->map_end = 0;
	st->window_base = -1ull;
	st->python = 0;
	st->event.epoch = 0;
	if (!p)
		return;
	if (p->exec_id == EXEC_ID_ANY)
		p->exec_id = exec_id;
	if (p->exec_id != exec_id)
		return;
	st->maps = p->maps;
	st->nr_maps = p->nr_maps;
	st->table = p->table;
	st->python = p->python;
	st->event.epoch = p->epoch;
	if (p->python) /* by its start, too: the number may be another process's by now */
		st->salt = ((__u64)exec_id << 32 | st->event.header.tgid) ^
			   task->group_leader->start_time * 0x9fb21c651e98df25ull;
	st->hash ^= (__u64)p->epoch << 32;
}

/*
 * System-wide, and of a cgroup or user, a process becomes known by its first sample; the recorder
 * fills the entry.
 */
__noinline int enter_process(__u32 tgid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_entry fresh = { .exec_id = (__u32)task->self_exec_id };
	long err = bpf_map_update_elem(&processes, &tgid, &fresh, BPF_NOEXIST);

	if (err && err != -EEXIST) { /* which the recorder, or another CPU, has added meanwhile */
		count(COUNTER_FORKS_DROPPED);
		return 1;
	}
	return 0;
}

static __always_inline struct process_entry *add_process(__u32 tgid)
{
	return enter_process(tgid) ? NULL : bpf_map_lookup_elem(&processes, &tgid);
}

#define HASHED_AT_ONCE 8

/* Adds the next few kernel frames to the key, from number st->low on. 1: there are no more. */
__noinline int hash_next_frames(struct walk_state *st)
{
	if (!st)
		return 1;
	for (__u32 i = 0; i < HASHED_AT_ONCE; i++) {
		__u32 at = st->low;

		if (at >= st->event.nr_kernel)
			return 1;
		st->hash = (st->hash ^ st->frames[at & FRAMES_MASK]) * 0x9fb21c651e98df25ull;
		st->hash ^= st->hash >> 32;
		st->low = at + 1;
	}
	return 0;
}

static __always_inline void hash_kernel_frames(struct walk_state *st)
{
	st->low = 0;
	for (int i = 0; i < MAX_KERNEL_FRAMES / HASHED_AT_ONCE; i++)
		if (hash_next_frames(st))
			break;
}

/*
 * In the middle of exec the registers are those of the old program and the memory is that of the
 * new one: the walked frames are meaningless, and the stack does not count as incomplete.
 */
static __always_inline void forget_broken_exec(struct walk_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (st->end == END_ROOT || !BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return;
	st->end = END_NO_USER;
	st->nr_user = 0;
	st->event.nr_joined = 0;
}

/* Walks the stack of st->regs, native and Python frames. */
static __always_inline void walk_thread(struct walk_state *st, struct process_entry *p, __u32 tgid)
{
	st->hash = tgid;
	st->nr_user = 0;
	st->event.nr_joined = 0;
	st->py.lost = 0;
	py_clear_runs(&st->py);
	take_process(st, p);
	if (st->python)
		python_begin(st);
	walk_to_root(st);
	if (st->py.nr)
		python_finish(st);
	if (st->py.spent)
		st->end = END_TOO_LONG;
	forget_broken_exec(st);
}

/* Begins the stack record of a sample of process `tgid`, with a full budget. */
static __always_inline void begin_stack(struct walk_state *st, __u32 tgid)
{
	fill_header(&st->event.header, EVENT_STACK, tgid);
	st->budget.left = BUDGET_FIRST_SLICE;
	st->budget.nr_slices = BUDGET_SLICES;
	st->code_bytes = 0;
	st->hash = tgid;
	st->nr_user = 0;
	st->event.nr_joined = 0;
	st->py.lost = 0;
	py_clear_runs(&st->py);
}

/* Makes st->hash the stack's key, from all of its frames and from why it ended. */
static __always_inline void finish_key(struct walk_state *st)
{
	hash_kernel_frames(st);
	st->hash = (st->hash ^ st->end ^ py_runs_broken(&st->py) << 8) * 0x9fb21c651e98df25ull;
	st->hash |= 1; /* 0 = empty slot */
}

#endif
