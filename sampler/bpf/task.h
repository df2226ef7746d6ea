/*
 * The few kernel types that the BPF programs read, reduced to the fields they use. CO-RE relocates
 * each access to the layout of the running kernel, so only the names and types matter here.
 */
#ifndef SPROF_BPF_TASK_H
#define SPROF_BPF_TASK_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} kernel_atomic;

typedef struct {
	__s64 counter;
} kernel_long_atomic;

struct thread_struct {
	unsigned long sp;     /* x86-64: of the kernel, when the thread was last switched from */
	unsigned long fsbase; /* x86-64: the thread pointer */
};

struct mm_struct {
	unsigned long start_stack;
};

/* Pages in RAM, by enum mm_counter; since Linux 6.2, and before. */
struct percpu_counter {
	__s64 count;
};

struct mm_struct___counters {
	struct percpu_counter rss_stat[4];
};

struct mm_rss_stat {
	kernel_long_atomic count[4];
};

struct mm_struct___counts {
	struct mm_rss_stat rss_stat;
};

/* Before Linux 6.18, and since: bits of the memory as a whole. */
struct mm_struct___word {
	unsigned long flags;
};

struct mm_struct___bitmap {
	struct {
		unsigned long words[1];
	} flags;
};

struct signal_struct {
	kernel_atomic live; /* threads that have not exited */
};

struct kernel_id {
	unsigned int val;
};

struct kernel_capabilities {
	__u64 val; /* two numbers of 32 bits before Linux 6.3 */
};

struct user_namespace {
	int level; /* 0: of the host */
};

struct cred {
	struct kernel_id uid, gid, suid, sgid, euid, egid;
	struct kernel_capabilities cap_permitted;
	struct user_namespace *user_ns;
};

/* Of a thread that has met a probe in a file (kernel/events/uprobes.c). */
struct uprobe_task {
	void *active_uprobe;	 /* set while it steps over one */
	unsigned long vaddr;	 /* of the instruction under the probe */
	unsigned long xol_vaddr; /* of the copy of that instruction, which is run out of line */
};

struct sched_info {
	unsigned long long run_delay; /* ns that it waited for a CPU, as in /proc/PID/schedstat */
};

/* Of the group of the fair scheduler that a thread is in (CONFIG_CFS_BANDWIDTH). */
struct cfs_rq {
	int throttle_count; /* not 0: the group, or one above it, has used its time */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

/* Since Linux 6.18 threads are throttled one by one. */
struct task_struct___throttled {
	_Bool throttled;
};

struct files_struct; /* kernel_files.h */
struct rt_mutex_waiter;

struct task_struct {
	unsigned int flags;
	unsigned int __state; /* since Linux 5.14 */
	int pid, tgid;
	int on_cpu;
	char comm[16];
	unsigned int in_iowait : 1;
	struct sched_info sched_info;
	struct sched_entity se;
	struct files_struct *files;
	struct rt_mutex_waiter *pi_blocked_on;
	unsigned long nvcsw, nivcsw; /* switches away from it: voluntary and not */
	__u64 self_exec_id;	     /* u64 since 5.7 */
	struct mm_struct *mm;
	struct task_struct *group_leader;
	__u64 start_time; /* ns; of the leader, that of the process */
	unsigned int in_execve : 1;
	struct signal_struct *signal;
	const struct cred *real_cred;
	struct uprobe_task *utask;
	struct thread_struct thread;
};

/* Of a CPU. */
struct rq {
	struct task_struct *curr;
};

/* Where groups of threads are scheduled (CONFIG_FAIR_GROUP_SCHED). */
struct cfs_rq___queue {
	struct rq *rq;
};

#pragma clang attribute pop

/* The bits of flags that say whether others may read the memory (include/linux/sched/coredump.h) */
#define MMF_DUMPABLE_MASK 3
#define SUID_DUMP_USER 1 /* the user may; not so after an exec that gave the program more rights */

/* Bits of __state (include/linux/sched.h) */
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_STOPPED_OR_TRACED 0x0c
#define TASK_FREEZABLE 0x2000 /* since Linux 6.1 */

#define PF_EXITING 0x00000004 /* include/linux/sched.h, unchanged since 2.6.12 */
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h, unchanged since 2.6.38 */

#endif
