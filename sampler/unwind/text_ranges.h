/*
 * The functions of an ELF file by its FDEs: ranges of text, sorted by address, each with the place
 * of its FDE.
 */
#ifndef SPROF_TEXT_RANGES_H
#define SPROF_TEXT_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"

struct text_range {
	uint32_t start, length; /* start is relative to text_ranges.low */
	uint32_t cie;		/* index in eh_reader.cies, or a value of the list's owner */
	uint32_t fde;		/* offset in its section */
};

struct text_ranges {
	uint64_t low, high; /* the executable segments span [low, high), less than 4 GiB */
	struct text_range *ranges;
	size_t nr, capacity;
};

/* Finds the image's text. -ENODATA: there is none; -EFBIG: it spans more than 4 GiB. */
int text_ranges_init(struct text_ranges *ranges, const struct unwind_image *image);
/*
 * Adds the FDEs of `reader` in the text; `flag` is set in the number of the CIE of each. Empty ones
 * and those at address 0, which linkers leave of discarded functions, are skipped; others outside
 * the text count as broken.
 */
void text_ranges_collect(struct text_ranges *ranges, struct eh_reader *reader, uint32_t flag);
void text_ranges_fini(struct text_ranges *ranges);

void text_ranges_add(struct text_ranges *ranges, const struct text_range *range);
/* Sorts by start; stable. */
void text_ranges_sort(struct text_ranges *ranges);
/* The last range that starts at or before an offset from `low`; NULL: there is none. */
const struct text_range *text_ranges_before(const struct text_ranges *ranges, uint64_t offset);
/* The last range that starts at or before vaddr, if it contains vaddr; else NULL. */
const struct text_range *text_ranges_find(const struct text_ranges *ranges, uint64_t vaddr);

#endif
