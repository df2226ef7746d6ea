/*
 * The text of an ELF file that no FDE covers, and where its symbols say that functions begin there.
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
	uint64_t *functions; /* in the gaps, ascending; the same one may be there twice */
	size_t nr_functions, functions_capacity;
};

/* The gaps longer than max_padding bytes between sorted ranges. */
void text_gaps_find(struct text_gaps *gaps, const struct unwind_image *image,
		    const struct text_ranges *ranges, uint64_t max_padding);
/* The number of the first of the functions that lies at vaddr or above. */
size_t text_gaps_first_function(const struct text_gaps *gaps, uint64_t vaddr);
void text_gaps_fini(struct text_gaps *gaps);

#endif
