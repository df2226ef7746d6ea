/*
 * What is known of each watched thread. A switch finds it in an array, by the address of the
 * thread, with neither a call nor a search; where another thread has that place already, in the
 * kernel's storage of the thread. A place belongs to its thread until that ends.
 */
#ifndef SPROF_WAITERS_BPF_H
#define SPROF_WAITERS_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/task.h"

/*
 * The points along the sum of a thread's short waits: one in each stretch of period_ns, so that
 * what they stand for never differs from that sum by more than a period.
 */
struct points {
	__s64 left;   /* to the next one, ns */
	__u32 weight; /* the length of the stretch; 0: there is none yet */
	__u32 rest;   /* from the point to the end of its stretch */
};
_Static_assert(MAX_WAIT_PERIOD_NS <= 0xffffffffu, "a stretch fits");

#define NO_THREAD 0u
#define NEW_THREAD 1u /* whose place is being made ready */

/*
 * A watched thread. Only the CPU that switches to it or from it writes here, and the one that wakes
 * it. A cache line has what the switch to it and its waking need, and the next what the switch from
 * it needs besides.
 */
struct waiter {
	__u64 task;	/* the thread's address, NO_THREAD or NEW_THREAD */
	__u64 start_ns; /* since when it is watched; 0: not yet */
	/* One of them is set: when it was switched to, or from. None: neither since start_ns. */
	__u64 in_ns, out_ns;
	__u64 off_ns; /* the last time off a CPU; it is divided at the next switch */
	struct points points;
	__u16 state;	 /* enum wait_state, of the last wait */
	__u16 is_woken;	 /* the wait will be sampled, and what is known of its waker is below */
	__u32 holder;	 /* of the lock for which it waits or waited, or 0 */
	__u64 run_delay; /* of the kernel, when it was switched from */
	__u64 cpu_ns, runnable_ns, waiting_ns;
	__u64 switches;			 /* the kernel's count when it was switched from */
	__u64 nr_waits;			 /* before the time on a CPU that has not ended yet */
	__u64 told_ns, told_runnable_ns; /* the sums of its samples, and of their runnable parts */
	__u32 nr_told;			 /* samples */
	__u32 began_on_cpu;
	__u32 waker_tgid, waker_tid;
	__u64 waker_key; /* of the stack; 0: not known */
	__u64 woken_ns;	 /* when that wait was ended */
	char waker_comm[COMM_SIZE];
	__u64 unused[2];
};
_Static_assert(sizeof(struct waiter) == 192, "each begins a cache line");

#define PLACE_BITS 10

/* Mapped, so that the kernel has the first begin a page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << PLACE_BITS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct waiter);
} places SEC(".maps");

/* Freed with the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct waiter);
} waiters SEC(".maps");

/* The address of a thread as a number, which nothing but memory makes of a pointer. */
static __noinline __u64 read_address(struct task_struct *task)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &task);
	return address;
}

/* The same, faster, through memory that may be overwritten meanwhile. */
static __always_inline __u64 address_through(__u64 *memory, struct task_struct *task)
{
	__u64 address, is;

	*(volatile __u64 *)memory = (__u64)task;
	address = is = *(volatile __u64 *)memory;
	barrier_var(is); /* else the compiler takes the pointer, where they are equal */
	return is == (__u64)task ? address : read_address(task);
}

static __always_inline struct waiter *place_of(__u64 address)
{
	__u32 at = address * 0x9e3779b97f4a7c15ull >> (64 - PLACE_BITS);

	return bpf_map_lookup_elem(&places, &at);
}

/* NULL: the thread is not watched. */
static __always_inline struct waiter *find_waiter(struct task_struct *task, __u64 address)
{
	struct waiter *t = place_of(address);

	if (t && t->task == address)
		return t;
	return bpf_task_storage_get(&waiters, task, 0, 0);
}

static __always_inline struct waiter *waiter_of(struct task_struct *task, __u64 address)
{
	struct waiter *t = find_waiter(task, address);

	return t && t->start_ns ? t : NULL;
}

/*
 * The same for a switch at `now`. A thread may have begun to be watched since then, on another CPU:
 * this switch is not part of its time.
 */
static __always_inline struct waiter *waiter_at(struct task_struct *task, __u64 address, __u64 now)
{
	struct waiter *t = find_waiter(task, address);

	return t && t->start_ns - 1 < now ? t : NULL; /* 0 - 1 is larger than any time */
}

/* Finds what is known of a thread, or begins with nothing. NULL: there is no memory for it. */
static __always_inline struct waiter *make_waiter(struct task_struct *task)
{
	__u64 address = read_address(task);
	struct waiter *t = find_waiter(task, address);

	if (t)
		return t;
	t = place_of(address);
	if (t && __sync_val_compare_and_swap(&t->task, NO_THREAD, NEW_THREAD) == NO_THREAD) {
		__builtin_memset(&t->start_ns, 0, sizeof(*t) - offsetof(struct waiter, start_ns));
		__sync_lock_test_and_set(&t->task, address);
		return t;
	}
	t = bpf_task_storage_get(&waiters, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		t->task = address;
	return t;
}

/* Gives up the place of a thread that ends, if it has one. */
static __always_inline void free_place(__u64 address)
{
	struct waiter *t = place_of(address);

	if (t)
		__sync_val_compare_and_swap(&t->task, address, NO_THREAD);
}

#endif
