/*
 * The functions of an ELF file by its .eh_frame: ranges of text, sorted by address, each with the
 * place of its FDE.
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
	uint32_t fde;		/* offset in .eh_frame */
};

struct text_ranges {
	uint64_t low, high; /* the executable segments span [low, high), less than 4 GiB */
	struct text_range *ranges;
	size_t nr, capacity;
};

/*
 * Collects the FDEs of `reader` in the image's text, sorted. Empty ones and those at address 0,
 * which linkers leave of discarded functions, are skipped; others outside the text count as broken.
 * -ENODATA: there is no text; -EFBIG: it spans more than 4 GiB.
 */
int text_ranges_collect(struct text_ranges *ranges, const struct unwind_image *image,
			struct eh_reader *reader);
void text_ranges_fini(struct text_ranges *ranges);

void text_ranges_add(struct text_ranges *ranges, const struct text_range *range);
/* Sorts by start; stable. */
void text_ranges_sort(struct text_ranges *ranges);
/* The last range that starts at or before vaddr, if it contains vaddr; else NULL. */
const struct text_range *text_ranges_find(const struct text_ranges *ranges, uint64_t vaddr);

#endif
