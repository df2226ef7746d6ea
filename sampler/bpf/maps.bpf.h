/*
 * What all parts of the program share: the settings, the map of processes, the ring, the counters.
 * The maps that only the walker reads are in walker.bpf.h.
 */
#ifndef SPROF_MAPS_BPF_H
#define SPROF_MAPS_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/walker.bpf.h"

const volatile bool system_wide;
const volatile __u32 caller_uid, caller_gid;
const volatile __u64 caller_capabilities; /* the caller's own, without borrowed ones */
const volatile bool callers_only; /* no samples of programs whose memory the caller may not read */
const volatile __u32 nr_cgroups;  /* 0: all cgroups; else in the map `cgroups` */
const volatile bool by_user;	  /* processes of `user` are targets */
const volatile __u32 user;
const volatile __u32 recorder;	   /* the process that records: no target by user or cgroup */
const volatile bool no_children;   /* what a target forks is no target */
const volatile __u32 wakeup_bytes; /* in the ring: the recorder is woken at more than this */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct process_entry);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} stack_slots SEC(".maps");

/* One per CPU. Not a per-CPU array: those hold 32 KiB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it */
	__type(key, __u32);
	__type(value, struct walk_state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20); /* the recorder sets it */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, MAX_CGROUPS);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &which);

	if (value)
		(*value)++;
}

/* The entry of a process; NULL: it is not known, or has still to execute what is sampled. */
static __always_inline struct process_entry *find_target(__u32 tgid)
{
	struct process_entry *p = bpf_map_lookup_elem(&processes, &tgid);

	return p && p->exec_id != EXEC_ID_NOT_YET ? p : NULL;
}

static __always_inline __u64 wakeup_flag(void)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_header(struct event_header *h, __u16 type, __u32 tgid)
{
	h->type = type;
	h->cpu = bpf_get_smp_processor_id();
	h->tgid = tgid;
	h->time_ns = bpf_ktime_get_ns();
}

/*
 * Has the thread the caller's ids, and no capability that the caller lacks? Programs such as sudo
 * start others as another user, and the kernel lets that user read those. The capabilities of a
 * container's user namespace count only inside it.
 */
static __always_inline bool task_is_the_callers(struct task_struct *task)
{
	const struct cred *cred = BPF_CORE_READ(task, real_cred);
	__u64 capabilities = 0;

	if (BPF_CORE_READ(cred, uid.val) != caller_uid ||
	    BPF_CORE_READ(cred, euid.val) != caller_uid ||
	    BPF_CORE_READ(cred, suid.val) != caller_uid ||
	    BPF_CORE_READ(cred, gid.val) != caller_gid ||
	    BPF_CORE_READ(cred, egid.val) != caller_gid ||
	    BPF_CORE_READ(cred, sgid.val) != caller_gid)
		return false;
	if (BPF_CORE_READ(cred, user_ns, level))
		return true;
	bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted);
	return !(capabilities & ~caller_capabilities);
}

/*
 * May the caller read this thread's memory? It must be the caller's, and the kernel must have noted
 * at exec that its user may: not of a program that is setuid or has capabilities, or whose file the
 * user may not read. The last moments of a thread, without memory, count as readable.
 */
static __noinline bool task_is_readable(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___bitmap *bitmap = (void *)mm;
	struct mm_struct___word *word = (void *)mm;
	unsigned long flags = 0;

	if (!task_is_the_callers(task))
		return false;
	if (!mm)
		return true;
	if (bpf_core_field_exists(bitmap->flags))
		bpf_core_read(&flags, sizeof(flags), &bitmap->flags);
	else if (bpf_core_field_exists(word->flags))
		bpf_core_read(&flags, sizeof(flags), &word->flags);
	return (flags & MMF_DUMPABLE_MASK) == SUID_DUMP_USER;
}

#endif
