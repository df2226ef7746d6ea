/*
 * The sink of a recording in segments. A source keeps the ids that a sink gave it, of threads,
 * modules and stacks, for as long as it runs; a segment has ids of its own and begins with none. So
 * this sink has a vocabulary that outlives segments, and translates its ids to those of the present
 * segment when a sample needs them. A turn is the change of one pointer: sampling does not stop.
 */
#ifndef SPROF_SEGMENT_SINK_H
#define SPROF_SEGMENT_SINK_H

#include <stdbool.h>
#include <stdint.h>

struct segment_sink;
struct sink;

/* `max_bytes` is about what the vocabulary may take; 0: 30 MB. */
struct segment_sink *segment_sink_new(uint64_t max_bytes);
void segment_sink_free(struct segment_sink *s); /* NULL is fine */

/* The sink to be given to the source. */
struct sink *segment_sink_front(struct segment_sink *s);

/*
 * From now on everything goes to `to`; NULL: samples are dropped and counted. Repeats there what is
 * known of events, and of processes when they have samples.
 */
void segment_sink_turn(struct segment_sink *s, struct sink *to);
/* Returns how many samples were dropped since the last call. */
uint64_t segment_sink_take_dropped(struct segment_sink *s);

/* The source's id of a module of the present segment, or PROFILE_NONE. */
uint32_t segment_sink_source_module(const struct segment_sink *s, uint32_t module);

/* Has the vocabulary grown so large that the source should forget its ids? */
bool segment_sink_is_large(const struct segment_sink *s);
/* Forgets the vocabulary: all ids that the source was given become invalid. */
void segment_sink_forget(struct segment_sink *s);

#endif
