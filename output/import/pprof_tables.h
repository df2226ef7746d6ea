/*
 * The tables of a pprof file: strings, mappings, functions and locations. One pass over the message
 * notes where each entry lies; an entry is decoded when a sample needs it, and a location becomes a
 * frame once.
 */
#ifndef SPROF_PPROF_TABLES_H
#define SPROF_PPROF_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"
#include "output/import/pprof_prune.h"

struct profile;

struct pprof_entry {
	uint64_t id;
	struct cursor message;
	uint32_t frame; /* of a location: + 1, 0 = not made yet */
	uint8_t cut;	/* of a location: enum pprof_cut */
};

struct pprof_list {
	struct pprof_entry *entries; /* sorted by id after pprof_tables_init() */
	size_t nr, capacity;
};

struct pprof_tables {
	struct pprof_list mappings, locations, functions;
	struct cursor *strings, *types, *samples, *comments;
	size_t nr_strings, nr_types, nr_samples, nr_comments;
	size_t strings_capacity, types_capacity, samples_capacity, comments_capacity;
	struct cursor period_type;
	uint64_t time_ns, duration_ns, period;
	uint64_t default_type, drop_frames, keep_frames; /* strings of the file, 0 = none */
	struct pprof_prune prune;
	size_t nr_repaired; /* strings that are not valid UTF-8, or hold a NUL */
};

/* 0, or -EINVAL if the bytes are not a profile. The tables point into them. */
int pprof_tables_init(struct pprof_tables *t, const void *data, size_t size);
void pprof_tables_fini(struct pprof_tables *t);

/*
 * Interns string `id` of the file in the profile, repaired if need be; "" if the file has no such
 * string.
 */
uint32_t pprof_string(const struct pprof_tables *t, struct profile *p, uint64_t id);

/*
 * The frame of a location, and what is to be cut off there (enum pprof_cut). 0, or -EINVAL if the
 * location does not exist or is damaged.
 */
int pprof_frame(struct pprof_tables *t, struct profile *p, uint64_t location, uint32_t *ret_frame,
		uint8_t *ret_cut);

#endif
