/*
 * Decodes the content of chunks into a profile. The content is untrusted: every number is checked
 * before use. Numbers of the recording's tables are translated to ids of the profile, which differ
 * if chunks are missing or content was written twice.
 */
#ifndef SPROF_DECODE_H
#define SPROF_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "core/recording/id_map.h"
#include "core/recording/recfile.h"
#include "core/recording/record.h"

struct fact_event;

struct decoder {
	struct profile *p;
	bool is_part; /* the recording is added to others */
	struct recfile_part part;
	bool is_of_other_host; /* not of the wanted host: nothing more is decoded */
	bool knows_boot;
	uint32_t boot;		   /* the number of its boot */
	uint64_t zero_realtime_ns; /* the time of day when this recording's clock was 0 */
	uint64_t nr_cut;	   /* samples outside the wanted time */
	/* Where samples of the recording's columns go at its end; NR_COLUMNS: nowhere. */
	uint8_t columns[NR_COLUMNS];
	struct id_map strings, modules, threads, frames, stacks, functions;
	uint32_t *stack; /* the stack being read, as ids of the profile */
	size_t stack_capacity;
	struct profile_location *locations;
	size_t locations_capacity;
	size_t nr_gap; /* numbers lost with missing chunks */
	/* limits on what hostile content can make us do: these four */
	uint64_t nr_string_bytes;
	uint64_t nr_decoded_frames;
	uint32_t nr_sums, nr_listed; /* rows of facts, with a key and without one */
	struct profile *part_sums;   /* rows of a part that are added up at its end; NULL: none */
	uint64_t nr_claimed;	     /* samples in the recording, by its own count */
	/* of the samples; min is UINT64_MAX if there are none */
	uint64_t min_time_ns, max_time_ns;
};

/* The caller keeps owning the profile. */
void decoder_init(struct decoder *d, struct profile *p);
void decoder_fini(struct decoder *d);

/* Adds the recording, whose header has been read, to what the profile holds. */
void decoder_begin_part(struct decoder *d, const struct recfile_part *part);
/* The number of the recording's boot; 0 if it is not added to others. */
uint32_t decoder_boot(struct decoder *d);
/* The host of its threads, as in struct profile_thread. */
uint32_t decoder_host(const struct decoder *d);
/* Translates a time of the recording to the clock of the profile. */
uint64_t decoder_time(const struct decoder *d, uint64_t time_ns);
/* Is a time of the recording in the wanted span? */
bool decoder_is_in_window(const struct decoder *d, uint64_t time_ns);
/* Is the recording of the wanted host, or not known to be of another? */
bool decoder_wants_host(struct decoder *d);
/*
 * Gives an event of a recording that is added to others the column that it has in those, or a free
 * one. Returns false if none is left.
 */
bool decoder_place_event(struct decoder *d, struct fact_event *event);
/*
 * Moves the samples from first_sample on to the columns of their events, at the end of the
 * recording, as rows of events may follow the samples. Samples without a column go: they are lost.
 */
void decoder_move_samples(struct decoder *d, size_t first_sample);
/* Is the sample in the wanted span? If so, translates its time to the clock of the profile. */
bool decoder_wants(struct decoder *d, struct profile_sample *sample);

/*
 * Reads the content of one chunk. Returns false if it breaks the format: what comes before the
 * fault is taken, the rest of the chunk is lost.
 */
bool decoder_chunk(struct decoder *d, const struct record_chunk *chunk, const uint8_t *content,
		   size_t size);

#endif
