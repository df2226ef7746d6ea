/*
 * A chunk of a JFR file: a header, then events one after the other, among them the metadata and the
 * constants that other events refer to by class and number. A chunk refers to nothing outside
 * itself.
 */
#ifndef SPROF_JFR_CHUNK_H
#define SPROF_JFR_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/import/java/jfr_types.h"

/* The classes whose constants are kept. */
enum jfr_pool {
	JFR_POOL_STRINGS,
	JFR_POOL_TRACES,
	JFR_POOL_METHODS,
	JFR_POOL_CLASSES,
	JFR_POOL_SYMBOLS,
	JFR_POOL_THREADS,
	JFR_POOL_FRAME_TYPES,
	NR_JFR_POOLS
};

struct jfr_chunk {
	const uint8_t *data;
	size_t size;
	uint64_t start_ns, duration_ns, start_ticks, ticks_per_s; /* start_ns: Unix time */
	struct jfr_types types;
	struct number_map pools[NR_JFR_POOLS]; /* number of a constant -> its offset + 1 */
	const struct jfr_class *pool_classes[NR_JFR_POOLS];
	bool cut_off; /* the file ends before the chunk does */
};

struct jfr_event {
	const struct jfr_class *class;
	struct cursor body;
};

/*
 * Reads the header and the metadata of the chunk at the beginning of the data. `max_steps` limits
 * how many values of the chunk are read later; types.steps_left says what is left of it. 0 or
 * -EINVAL, or -ENOTSUP for a version or a form of numbers that is not read. Call jfr_chunk_fini()
 * in any case.
 */
int jfr_chunk_init(struct jfr_chunk *k, const uint8_t *data, size_t size, uint64_t max_steps);
void jfr_chunk_fini(struct jfr_chunk *k);

/* Finds all constants of the chunk. 0 or -EINVAL. */
int jfr_chunk_read_constants(struct jfr_chunk *k);

/* The events of the chunk, from the first one. */
struct cursor jfr_events(const struct jfr_chunk *k);
/*
 * The next event of a class that the metadata describes; false at the end. An event of an
 * impossible size leaves the cursor bad.
 */
bool jfr_next_event(struct jfr_chunk *k, struct cursor *events, struct jfr_event *ret_event);

/* Picks fields of a constant; false if it does not exist or is damaged. */
bool jfr_read_constant(struct jfr_chunk *k, enum jfr_pool pool, uint64_t number,
		       struct jfr_want *wants, size_t nr);

/* Appends a string, written in place, as a symbol or as a constant. */
void jfr_add_text(struct jfr_chunk *k, const struct jfr_want *want, struct buffer *text);

/* The time of an event in Unix ns. */
uint64_t jfr_time_ns(const struct jfr_chunk *k, uint64_t ticks);

#endif
