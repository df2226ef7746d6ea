/*
 * Copied stacks that wait for a later round. Unwinding one may take a child process a second on a
 * busy machine, so each round has a budget of time: its rings have to be emptied, and recording has
 * to end when it should. What comes after the budget is spent is kept here, with the Python frames
 * that go with it, and is unwound first in the next rounds. By then tables are often ready.
 */
#ifndef SPROF_LATE_SNAPSHOTS_H
#define SPROF_LATE_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_header;
struct late_snapshots;

/* One that waits for longer is not unwound: its process may have gone long ago. */
#define LATE_SNAPSHOTS_NS (10ull * 1000 * 1000 * 1000)
#define LATE_SNAPSHOTS_BYTES (64u << 20) /* where memory has no limit */

/* At most `max_bytes` of records wait. */
struct late_snapshots *late_snapshots_new(size_t max_bytes);
void late_snapshots_free(struct late_snapshots *late); /* NULL is fine */

/* A round begins, whose budget lasts until then (CLOCK_MONOTONIC). */
void late_snapshots_begin(struct late_snapshots *late, uint64_t until_ns);
/*
 * Keeps a copy of an EVENT_SNAPSHOT, or of the EVENT_PYTHON that comes right before it, if the
 * budget is spent. `epoch` is that of the process, 0 with EVENT_PYTHON. false: it is to be handled
 * now, because there is time or too many wait.
 */
bool late_snapshots_keep(struct late_snapshots *late, const struct event_header *e, size_t size,
			 uint32_t epoch);
bool late_snapshots_wait(const struct late_snapshots *late);
/* Is the budget spent, so that nothing is to be unwound any more? */
bool late_snapshots_spent(const struct late_snapshots *late);

/* Gets a record that was kept. `is_late`: it has waited too long. */
typedef void late_snapshots_fn(void *context, const struct event_header *e, uint32_t epoch,
			       bool is_late);
/* Hands over what waits, oldest first, while there is time; with `all`, also the rest. */
void late_snapshots_take(struct late_snapshots *late, bool all, late_snapshots_fn *fn,
			 void *context);

#endif
