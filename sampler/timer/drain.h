/*
 * Moves samples from the rings of the targets to the sink: reads them, puts them in order of time
 * over all targets, unwinds or looks up their stacks and gives the frames the sink's ids.
 */
#ifndef SPROF_DRAIN_H
#define SPROF_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct mapped_file;
struct profile_stats;
struct sandbox;
struct sink;
struct timer_drain;
struct timer_processes;

/* All must outlive it; the sandbox may be NULL. */
struct timer_drain *timer_drain_new(struct timer_processes *processes, struct profile_stats *stats,
				    const struct sandbox *sandbox);
void timer_drain_free(struct timer_drain *drain); /* NULL is fine */

/* As timer_publish.on_release; `context` is the drain. */
void timer_drain_forget_file(void *context, const struct mapped_file *file);
/* Samples that are older than this moment do not count; before the first call none counts. */
void timer_drain_start(struct timer_drain *drain);
/* Where samples go from now on. NULL: timer_drain_read() is not called. */
void timer_drain_set_sink(struct timer_drain *drain, struct sink *sink);
/* After the last samples: tells the sink what it has not been told yet. */
void timer_drain_finish(struct timer_drain *drain);
/* Takes what the rings hold, and hands to the sink what is older than before_ns. */
void timer_drain_read(struct timer_drain *drain, uint64_t before_ns);
/* May stacks come of which a ring holds few? So it is at the start, and after such a stack. */
bool timer_drain_is_deep(const struct timer_drain *drain);

#endif
