/*
 * The processes that are followed, by pid. Their mappings are kept right from the events of fork,
 * exec, mmap and exit, which come here in order of time, and are published to the kernel side at
 * the end of each round.
 */
#ifndef SPROF_EBPF_TARGETS_H
#define SPROF_EBPF_TARGETS_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/ebpf/publish_mappings.h"

struct ebpf_files;
struct ebpf_process;
struct ebpf_pythons;
struct exec_event;
struct exit_event;
struct fork_event;
struct process;
struct sideband_record;

struct ebpf_targets {
	struct kernel_side *kernel;
	struct ebpf_files *files;
	struct ebpf_pythons *pythons; /* NULL: Python frames are not wanted */
	struct ebpf_publisher publisher;
	struct process *processes; /* struct ebpf_process, by pid (uthash) */
	/* Most of thousands of processes sleep: a poll looks at these, and seldom at all. */
	struct ebpf_process *attended; /* utlist, in the order of arrival */
	uint64_t all_ns;	       /* when all are looked at next */
	uint64_t started_ns;	       /* when one was last added, or began another program */
};

/* All must outlive it; `pythons` may be NULL. */
void ebpf_targets_init(struct ebpf_targets *t, struct kernel_side *kernel, struct ebpf_files *files,
		       struct ebpf_pythons *pythons, struct limits *limits);
void ebpf_targets_fini(struct ebpf_targets *t);

/*
 * The process; one that is not known is added, with the mappings that it has now. `exec_id`: the
 * image that it runs, or EXEC_ID_ANY. 0, or the -errno of reading the mappings (-ESRCH: it has
 * ended) and *ret_process NULL.
 */
int ebpf_process(struct ebpf_targets *t, pid_t pid, uint32_t exec_id, struct process **ret_process);
/* Adds a child of sprof that is about to execute a program: it is a target from that exec on. */
void ebpf_launched(struct ebpf_targets *t, pid_t pid);
/*
 * Publishes the mappings of a process that has no table, not waiting for the end of the round: what
 * is left of it may be spent on the stacks that were copied because there is no table.
 */
void ebpf_publish_first(struct ebpf_targets *t, struct process *p);
/* NULL where the process is not known. */
struct process *ebpf_find_process(const struct ebpf_targets *t, pid_t pid);

/* The next poll looks at the process: something about it has changed. */
void ebpf_attend(struct ebpf_targets *t, struct process *p);

void ebpf_on_fork(struct ebpf_targets *t, const struct fork_event *e);
void ebpf_on_exec(struct ebpf_targets *t, const struct exec_event *e);
void ebpf_on_exit(struct ebpf_targets *t, const struct exit_event *e);
void ebpf_on_sideband(struct ebpf_targets *t, const struct sideband_record *r);
/* Reads the mappings of a process again, a little later if that was done a moment ago. */
void ebpf_reread(struct ebpf_targets *t, struct process *p);

/*
 * After the events of a round: publishes what has changed, and removes processes that have ended.
 */
void ebpf_targets_poll(struct ebpf_targets *t);

/*
 * How much of timeout_ms the next round may wait. Execs, snapshots and a ring that fills end a wait
 * besides.
 */
int ebpf_targets_timeout_ms(const struct ebpf_targets *t, int timeout_ms);

/* Before sampling begins: has the unwind tables of what the processes run now built first. */
void ebpf_order_tables(struct ebpf_targets *t);

#endif
