/*
 * The gaps of an ELF file's text: what no FDE covers. Symbols say where functions begin in them.
 * Addresses are virtual ones.
 */
#ifndef SPROF_TEXT_GAPS_H
#define SPROF_TEXT_GAPS_H

#include "sampler/unwind/text_ranges.h"

struct text_gap {
	uint64_t start, end; /* virtual addresses */
};

struct text_gaps {
	struct text_gap *gaps; /* ascending */
	size_t nr, gaps_capacity;
	uint64_t *functions; /* that begin in the gaps, ascending, possibly repeated */
	size_t nr_functions, functions_capacity;
};

/* Finds the gaps of more than max_padding bytes between sorted ranges. */
void text_gaps_find(struct text_gaps *gaps, const struct unwind_image *image,
		    const struct text_ranges *ranges, uint64_t max_padding);
/* The index of the first function at or above vaddr. */
size_t text_gaps_first_function(const struct text_gaps *gaps, uint64_t vaddr);
void text_gaps_fini(struct text_gaps *gaps);

#endif
