/*
 * Turns what a sink is given into the content of chunks, as record.h specifies it. It knows nothing
 * of files: recfile_write.c compresses and writes `content`.
 *
 * The vocabulary and a hash of each stack are kept between chunks. Stacks and samples are encoded
 * at once, and are forgotten when their chunk is written.
 */
#ifndef SPROF_ENCODE_H
#define SPROF_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/intern.h"
#include "core/profile/profile.h"
#include "core/recording/record.h"

struct encoder {
	struct profile *vocabulary; /* strings, modules, threads, frames, by the sink's ids */
	struct profile_stats stats;
	struct buffer content; /* records of the open chunk */
	struct buffer entry;   /* scratch: one module */

	struct record_first written; /* entries in `content` and in earlier chunks */
	struct record_first first; /* entries in earlier chunks, which the chunk's header states */
	uint64_t first_sample;
	uint32_t nr_chunk_samples; /* in `content` */

	struct buffer stacks; /* pending */
	uint32_t nr_stacks;   /* ids given out */
	uint32_t *previous;   /* frames of the last stack in the pending record */
	size_t nr_previous, previous_capacity;
	struct intern stack_index;
	uint64_t *stack_hashes; /* of the stack with id first_known_stack + i */
	size_t stack_hashes_capacity;
	uint32_t first_known_stack;

	struct buffer columns[NR_RECORD_COLUMNS]; /* pending samples */
	uint32_t nr_samples;
	bool has_gil;	 /* some pending sample has a GIL state */
	bool has_labels; /* some pending sample has labels */
	uint64_t last_time_ns, last_weight;

	struct buffer facts; /* pending */

	bool with_symbols;	/* write functions and locations */
	uint32_t located_frame; /* the locations of the frames below this id are written */
};

void encoder_init(struct encoder *e);
void encoder_fini(struct encoder *e);

/* Writes META to the open chunk at once. NULL values are left out. */
void encoder_meta(struct encoder *e, const char *const (*pairs)[2], size_t nr);

uint32_t encoder_stack(struct encoder *e, const uint32_t *frames, size_t nr);
void encoder_sample(struct encoder *e, const struct profile_sample *sample);
void encoder_fact(struct encoder *e, enum fact_kind kind, const void *row);
void encoder_symbols(struct encoder *e);

/* Returns whether there is anything to write besides the counters. */
bool encoder_has_pending(const struct encoder *e);
/* Returns the bytes of stacks, samples and facts that wait for a chunk. */
size_t encoder_pending_bytes(const struct encoder *e);

/*
 * Moves pending data to `content`, about limit_bytes at most. Returns true if more is left for
 * another chunk. The caller writes `content` and then calls encoder_next_chunk().
 */
bool encoder_fill(struct encoder *e, size_t limit_bytes);
void encoder_next_chunk(struct encoder *e);

#endif
