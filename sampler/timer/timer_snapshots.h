/*
 * Unwinds the copies of stacks that targets of the timer source send where they cannot walk, with
 * the mappings and tables that are published to the targets.
 */
#ifndef SPROF_TIMER_SNAPSHOTS_H
#define SPROF_TIMER_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/agent/region.h"
#include "sampler/walk/snapshot_unwind.h"

struct mapped_file;
struct process;
struct sandbox;
struct timer_processes;
struct timer_snapshots;

/* What stands before the Python frames and the stack among the words of a sample. */
#define TIMER_SNAPSHOT_WORDS (sizeof(struct agent_snapshot) / 8)

/* All must outlive it; the sandbox may be NULL. */
struct timer_snapshots *timer_snapshots_new(struct timer_processes *processes,
					    const struct sandbox *sandbox);
void timer_snapshots_free(struct timer_snapshots *snapshots);
/* The file's index will belong to another. */
void timer_snapshots_forget(struct timer_snapshots *snapshots, const struct mapped_file *file);

/*
 * As snapshot_unwind(), for a sample of type AGENT_SNAPSHOT. `may_wait` as in struct
 * snapshot_sample.
 */
struct snapshot_result timer_snapshots_unwind(struct timer_snapshots *snapshots,
					      const struct process *process,
					      const struct agent_sample *sample,
					      const uint64_t *words, bool may_wait,
					      uint64_t *frames, size_t max);
/* Is the table being built that such a result awaits? */
bool timer_snapshots_table_is_coming(const struct timer_snapshots *snapshots, uint64_t module);

#endif
