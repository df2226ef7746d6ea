/*
 * The addresses in pprof's old formats, which hold no names: a list of mappings, in the form of
 * /proc/PID/maps, says which file an address is in.
 */
#ifndef SPROF_LEGACY_ADDRESSES_H
#define SPROF_LEGACY_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct legacy_mapping {
	uint64_t start, end, offset;
	uint32_t module; /* id, or PROFILE_NONE */
};

struct legacy_addresses {
	struct profile *p;
	struct legacy_mapping *mappings;
	size_t nr, capacity;
};

/* Reads each line of the text that is a mapping; other lines are passed over. */
void legacy_addresses_init(struct legacy_addresses *a, struct profile *p, const char *text,
			   size_t size);
void legacy_addresses_fini(struct legacy_addresses *a);

/* The frame of an address, unnamed: its file is read later, if it is there. */
uint32_t legacy_frame(struct legacy_addresses *a, uint64_t address);

#endif
