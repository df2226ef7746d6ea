/*
 * The tables of a pprof file: strings, mappings, functions and locations. One pass over the message
 * notes where each entry lies; an entry is decoded when a sample needs it, once. The tables are for
 * one profile, as they keep its ids.
 */
#ifndef SPROF_PPROF_TABLES_H
#define SPROF_PPROF_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"
#include "core/base/number_map.h"
#include "output/import/named_frames.h"
#include "output/import/pprof_prune.h"

struct pprof_read_mapping;
struct profile;

struct pprof_entry {
	uint64_t id;
	struct cursor message;
	/*
	 * What it became, + 1: a frame, or an index in read_mappings or read_functions; 0 = it has
	 * not been read.
	 */
	uint32_t made;
	uint8_t cut; /* of a location: enum pprof_cut */
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
	/*
	 * What has been read. A file may refer to one string of megabytes from millions of places,
	 * so no text is looked at for each of them.
	 */
	uint32_t *string_ids; /* by string of the file: id in the profile + 1, 0 = not interned */
	struct pprof_read_mapping *read_mappings;
	struct import_function *read_functions; /* without line, module and kind */
	size_t nr_read_mappings, nr_read_functions;
	size_t read_mappings_capacity, read_functions_capacity;
	struct import_modules modules;
	struct number_map dropped; /* by name: does `prune` drop the function? */
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
