/*
 * Turns what a sink is given into the content of chunks, as record.h specifies it. Knows nothing of
 * files: recfile_write.c compresses and writes what is in `content`.
 *
 * Kept between chunks: the vocabulary, and a hash of each stack. Stacks and samples are encoded
 * when they come and are gone with their chunk.
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
	struct profile *vocabulary; /* strings, modules, threads, frames: the sink's ids */
	struct profile_stats stats;
	struct buffer content; /* records of the open chunk */
	struct buffer entry;   /* a module on its way */

	struct record_first written; /* entries in `content` and in the chunks before */
	struct record_first first; /* entries in the chunks before: what the chunk's header says */
	uint64_t first_sample;
	uint32_t nr_chunk_samples; /* in `content` */

	struct buffer stacks; /* pending */
	uint32_t nr_stacks;   /* ids given out */
	uint32_t *previous;   /* the frames of the stack before, in the pending record */
	size_t nr_previous, previous_capacity;
	struct intern stack_index;
	uint64_t *stack_hashes; /* of stack id first_known_stack + i */
	size_t stack_hashes_capacity;
	uint32_t first_known_stack;

	struct buffer columns[NR_RECORD_COLUMNS]; /* pending samples */
	uint32_t nr_samples;
	bool has_gil; /* one of them says something of it */
	uint64_t last_time_ns, last_weight;

	struct buffer facts; /* pending */

	bool with_symbols;	/* functions and locations are to be written */
	uint32_t located_frame; /* frames below it have had their locations written */
};

void encoder_init(struct encoder *e);
void encoder_fini(struct encoder *e);

/* Into the open chunk at once. NULL values are left out. */
void encoder_meta(struct encoder *e, const char *const (*pairs)[2], size_t nr);

uint32_t encoder_stack(struct encoder *e, const uint32_t *frames, size_t nr);
void encoder_sample(struct encoder *e, const struct profile_sample *sample);
void encoder_fact(struct encoder *e, enum fact_kind kind, const void *row);
void encoder_symbols(struct encoder *e);

/* Is there anything to write but the counters? */
bool encoder_has_pending(const struct encoder *e);
/* Bytes of stacks, samples and facts that wait for a chunk. */
size_t encoder_pending_bytes(const struct encoder *e);

/*
 * Moves what is pending to `content`, about limit_bytes at most. True: there is more, for another
 * chunk. The chunk is finished with encoder_next_chunk() once `content` has been written.
 */
bool encoder_fill(struct encoder *e, size_t limit_bytes);
void encoder_next_chunk(struct encoder *e);

#endif
