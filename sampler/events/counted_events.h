/*
 * Events that are sampled beside the clock (sprof record -e): finds them, opens them on each CPU,
 * and has them run a BPF program.
 */
#ifndef SPROF_COUNTED_EVENTS_H
#define SPROF_COUNTED_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct counted_events;
struct sink;
struct source_events;

/*
 * Finds and opens the events, which do not count yet. `freq_hz` is of those without a period. 0, or
 * -errno, reported.
 */
int counted_events_new(const struct source_events *events, uint32_t freq_hz,
		       struct counted_events **ret);
void counted_events_free(struct counted_events *e); /* NULL is fine */

/* Is any a tracepoint? The other program serves those, by the periods, an array of all events. */
bool counted_events_tracepoints(const struct counted_events *e);
const uint64_t *counted_events_periods(const struct counted_events *e);

/* What events run: counters, tracepoints, and faults that may let resident memory grow. */
struct event_programs {
	struct bpf_program *sample, *tracepoint, *growth;
};

/* Event number i runs its program with cookie i + 1. 0 or -errno. */
int counted_events_start(struct counted_events *e, const struct event_programs *programs);
void counted_events_stop(struct counted_events *e); /* NULL is fine */
/*
 * Warns of events that shared their counters, so that the kernel counted each for a part of the
 * time only. NULL is fine.
 */
void counted_events_report(const struct counted_events *e);

/* Tells the sink the names of the events, at the first call; NULL is fine. */
void counted_events_tell(struct counted_events *e, struct sink *sink);
/* The name of the first event. */
const char *counted_events_first(const struct counted_events *e);
/* Returns how often the kernel throttled one of them since the last call; NULL is fine. */
uint64_t counted_events_read_throttles(struct counted_events *e);

#endif
