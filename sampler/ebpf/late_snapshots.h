/*
 * Copied stacks that are unwound in a later round, for one of two reasons:
 *   - Unwinding one may take a child process a second on a busy machine, so each round has a budget
 *     of time: its rings have to be emptied, and recording has to end when it should.
 *   - The unwind table of code that the stack runs through is being built.
 * The Python frames that go with a stack wait with it.
 */
#ifndef SPROF_LATE_SNAPSHOTS_H
#define SPROF_LATE_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/sink/held_records.h"

struct late_snapshots;
struct process;
struct snapshot_event;
struct stack_event;

/*
 * One that has had no time for longer is not unwound: its process may have gone long ago. One that
 * lacks a table for longer is unwound without it.
 */
#define LATE_SNAPSHOTS_NS HELD_RECORDS_NS
#define LATE_SNAPSHOTS_BYTES (64u << 20) /* where memory has no limit */

struct late_snapshots_ops {
	/* Is the table of the module being built? */
	bool (*table_is_coming)(void *context, uint64_t module);
	/* Gets the Python frames of the snapshot that is handed over next. */
	void (*python)(void *context, const struct stack_event *e);
	/* Gets a snapshot. `is_late`: it has had no time for too long. */
	void (*snapshot)(void *context, const struct snapshot_event *e, uint32_t epoch,
			 bool is_late);
};

/* At most `max_bytes` of records wait; no user's processes fill them alone. */
struct late_snapshots *late_snapshots_new(size_t max_bytes, const struct late_snapshots_ops *ops,
					  void *context);
void late_snapshots_free(struct late_snapshots *late); /* NULL is fine */

/* A round begins, whose budget lasts until then (CLOCK_MONOTONIC). */
void late_snapshots_begin(struct late_snapshots *late, uint64_t until_ns);
/* Is the budget spent, so that nothing is to be unwound any more? */
bool late_snapshots_spent(const struct late_snapshots *late);

/* Python frames have come; the snapshot that they go with comes next, and takes them with it. */
void late_snapshots_python(struct late_snapshots *late, const struct stack_event *e);
/*
 * Keeps a copy of the process's snapshot if the budget is spent. false: it is to be handled now,
 * because there is time or too many wait.
 */
bool late_snapshots_keep(struct late_snapshots *late, const struct snapshot_event *e,
			 const struct process *p);
/* May the process's snapshot wait for a table? */
bool late_snapshots_may_await(const struct late_snapshots *late, const struct snapshot_event *e,
			      const struct process *p);
/* Keeps a copy of such a snapshot until the table of the module is there. */
void late_snapshots_await(struct late_snapshots *late, const struct snapshot_event *e,
			  const struct process *p, uint64_t module);
/* Hands over what waits for tables of that process: its mappings go. */
void late_snapshots_hurry(struct late_snapshots *late, uint32_t tgid);
/* Do some wait for time? */
bool late_snapshots_wait(const struct late_snapshots *late);
/* Do some wait for tables? */
bool late_snapshots_lack_tables(const struct late_snapshots *late);

/*
 * Hands over what can be unwound now, in the order in which it came, while there is time; with
 * `all`, also the rest.
 */
void late_snapshots_take(struct late_snapshots *late, bool all);

#endif
