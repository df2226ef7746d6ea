/*
 * Puts the content of chunks into a profile. The content is hostile: every number is checked before
 * it is used. Numbers of the recording's tables are translated to the profile's ids, which differ
 * where chunks are missing or the same content was written twice.
 */
#ifndef SPROF_DECODE_H
#define SPROF_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "core/recording/record.h"

/* Number in the recording -> id in the profile, PROFILE_NONE where it was lost. */
struct id_map {
	uint32_t *ids;
	size_t nr, capacity;
};

struct decoder {
	struct profile *p;
	struct id_map strings, modules, threads, frames, stacks, functions;
	uint32_t *stack; /* the stack being read, as ids of the profile */
	size_t stack_capacity;
	struct profile_location *locations;
	size_t locations_capacity;
	size_t nr_gap;		  /* numbers lost with missing chunks */
	uint64_t nr_string_bytes; /* these four bound what hostile content can make us do */
	uint64_t nr_decoded_frames;
	uint32_t nr_sums, nr_listed;	   /* rows of facts, with a key and without */
	uint64_t nr_claimed;		   /* samples that the recording says there were */
	uint64_t min_time_ns, max_time_ns; /* of the samples; min is UINT64_MAX without one */
};

/* The profile stays the caller's. */
void decoder_init(struct decoder *d, struct profile *p);
void decoder_fini(struct decoder *d);

/*
 * Reads one chunk's content. False where it does not follow the format: what came before the fault
 * has been taken, the rest of the chunk is lost.
 */
bool decoder_chunk(struct decoder *d, const struct record_chunk *chunk, const uint8_t *content,
		   size_t size);

#endif
