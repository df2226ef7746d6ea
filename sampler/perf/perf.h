/*
 * What the files of the perf source share. source_perf.c opens and drives the source;
 * perf_targets.c keeps the processes, their mapped files and the names of their threads;
 * perf_drain.c turns records into samples.
 */
#ifndef SPROF_PERF_H
#define SPROF_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/source.h"
#include "core/portable/walk.h"
#include "sampler/release/file_release.h"
#include "sampler/target/mapped_file.h"
#include "sampler/sink/time_order.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/perf/perf_record.h"
#include "sampler/target/process.h"
#include "sampler/sink/limits.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/walk/table_builder.h"

struct perf_events;
struct python_stacks;
struct sandbox;
struct source_unwinder;
struct members;
struct targets;
struct unwind_table;

struct perf_thread {
	pid_t tid;
	char comm[COMM_SIZE]; /* filled with NUL */
	UT_hash_handle hh;
};

/* The unwind rows of a module. */
struct perf_rows {
	bool ready;		    /* the builder has finished, or will not be asked */
	struct unwind_table *table; /* NULL: no rows */
	struct rule_claim claim;    /* the rules that it names */
};

struct source {
	struct perf_events *events;
	int epoll_fd;
	bool system_wide, callers_only, no_children; /* as in source_config */
	pid_t *alone; /* with no_children: the processes that are sampled */
	size_t nr_alone, alone_capacity;
	uint64_t start_ns;   /* older samples are left out; 0: sampling has not begun */
	uint64_t handled_ns; /* older records have been handled */
	uint64_t dropped_ns; /* when it was last noticed that the kernel had dropped records */
	uint64_t reread_ns;  /* time spent on reading mappings again */
	struct targets *targets;
	struct members *members; /* of a cgroup or user; NULL: not asked for */
	bool polls_members;	 /* new ones are looked for: no event sees them by itself */
	struct time_order *queue;
	struct process *processes;
	struct perf_thread *threads;
	struct file_table *files;
	struct file_release release;
	struct table_builder *builder;
	struct runtime_unwind *runtime;
	struct walk_rule *rules;
	struct python_stacks *python; /* NULL: Python frames are not wanted */
	bool python_wakes;	      /* its readers wake us, and not the rings */
	struct perf_rows *rows;	      /* by index of the mapped file */
	size_t nr_rows, rows_capacity;
	struct source_unwinder *unwinder;
	const struct sandbox *sandbox;	 /* of the unwinder */
	const struct process *unwinding; /* the process of the sample being unwound */
	uint64_t unwinding_ns;		 /* the time of that sample */
	struct sample_sink out;
	struct profile_stats stats;
	struct limits limits;
};

/* perf_targets.c */

/*
 * The process; one that is not known is added, with the mappings that it has now. 0, or the -errno
 * of reading the mappings (-ESRCH: it has ended) and *ret_process NULL.
 */
int perf_process(struct source *s, pid_t pid, struct process **ret_process);
/* Adds a child of sprof that is about to execute a program. */
void perf_launched(struct source *s, pid_t pid);
/*
 * Reads the mappings of a process again unless that was done a moment ago, or unless reading again
 * has taken too much of the recording: the rings fill meanwhile, which drops more records.
 */
void perf_reread(struct source *s, struct process *p);
/* The name of a thread: COMM_SIZE bytes, filled with NUL; valid until the next record. */
const char *perf_thread_comm(struct source *s, pid_t pid, pid_t tid);
/* Takes the tables that are finished. */
void perf_take_tables(struct source *s);
void perf_on_named(struct source *s, const struct perf_record *r);
void perf_on_forked(struct source *s, const struct perf_record *r);
void perf_on_exited(struct source *s, const struct perf_record *r);
void perf_on_mapped(struct source *s, const struct perf_record *r);
void perf_on_dropped(struct source *s, const struct perf_record *r);
/*
 * Once in a round: takes finished tables, removes processes that have ended, and releases files
 * that no process maps any more.
 */
void perf_tidy(struct source *s);
void perf_free_tables(struct source *s);

/* perf_drain.c */

/* Queues a record; `context` is the source. */
void perf_queue_record(void *context, const struct perf_record *record);
/* Queues what has come since the last time. */
void perf_read_rings(struct source *s);
/* Handles what is older than before_ns, and empties the rings every few ms meanwhile. */
void perf_handle_records(struct source *s, uint64_t before_ns);

#endif
