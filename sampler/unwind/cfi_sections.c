/*
 * .debug_frame is looked for only if .eh_frame leaves gaps in the text, and an FDE of it counts
 * only if no FDE of .eh_frame overlaps it: .eh_frame is what the program itself unwinds by.
 */
#include "sampler/unwind/cfi_sections.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "sampler/unwind/debug_frame.h"

static void read_section(struct cfi_section *section, const struct eh_frame *frame,
			 struct text_ranges *ranges, uint32_t flag)
{
	struct eh_reader *reader = &section->reader;

	eh_reader_init(reader, frame);
	text_ranges_collect(ranges, reader, flag);
	section->initials = xcalloc(reader->nr_cies + 1, sizeof(*section->initials));
	for (size_t i = 0; i < reader->nr_cies; i++)
		cfi_init_cie(&reader->frame, &reader->cies[i], &section->initials[i]);
}

/* Is there text between the sorted ranges that is more than padding? */
static bool has_gap(const struct text_ranges *ranges)
{
	uint64_t end = 0, text = ranges->high - ranges->low;

	for (size_t i = 0; i < ranges->nr; i++) {
		const struct text_range *range = &ranges->ranges[i];

		if (range->start > end + CFI_MAX_PADDING)
			return true;
		if (range->start + (uint64_t)range->length > end)
			end = range->start + (uint64_t)range->length;
	}
	return text > end + CFI_MAX_PADDING;
}

/* Removes the ranges from `first` on that overlap one of the sorted ranges before. */
static void remove_described(struct text_ranges *ranges, size_t first)
{
	struct text_ranges described = *ranges;
	size_t nr = first;

	described.nr = first;
	for (size_t i = first; i < ranges->nr; i++) {
		const struct text_range *range = &ranges->ranges[i];
		uint64_t last = (uint64_t)range->start + range->length - 1;
		const struct text_range *before = text_ranges_before(&described, last);

		if (!before || (uint64_t)before->start + before->length <= range->start)
			ranges->ranges[nr++] = *range;
	}
	ranges->nr = nr;
}

int cfi_sections_collect(struct cfi_sections *sections, const struct unwind_image *image,
			 struct debug_files *files, struct text_ranges *ret_ranges)
{
	struct eh_frame frame = { 0 }; /* without .eh_frame there may still be ranges */
	size_t nr;
	int err;

	*sections = (struct cfi_sections){ 0 };
	*ret_ranges = (struct text_ranges){ 0 };
	err = unwind_image_load_eh_frame(image, &frame);
	if (err && err != -ENODATA)
		return err;
	sections->eh.reader.frame = frame; /* to be freed */
	err = text_ranges_init(ret_ranges, image);
	if (err)
		return err;
	read_section(&sections->eh, &frame, ret_ranges, 0);
	text_ranges_sort(ret_ranges);
	nr = ret_ranges->nr;
	if (!has_gap(ret_ranges) || debug_frame_load(image, files, &frame))
		return 0;
	read_section(&sections->debug, &frame, ret_ranges, CFI_IN_DEBUG_FRAME);
	remove_described(ret_ranges, nr);
	text_ranges_sort(ret_ranges);
	return 0;
}

static void section_fini(struct cfi_section *section)
{
	eh_reader_fini(&section->reader);
	free((void *)section->reader.frame.data);
	free(section->initials);
}

void cfi_sections_fini(struct cfi_sections *sections)
{
	section_fini(&sections->eh);
	section_fini(&sections->debug);
}

static const struct cfi_section *section_of(const struct cfi_sections *sections,
					    const struct text_range *range)
{
	return range->cie & CFI_IN_DEBUG_FRAME ? &sections->debug : &sections->eh;
}

bool cfi_sections_begin(const struct cfi_sections *sections, const struct text_range *range,
			struct cfi_program *program, uint64_t *ret_start)
{
	const struct cfi_section *section = section_of(sections, range);
	uint32_t cie = range->cie & ~CFI_IN_DEBUG_FRAME;
	struct eh_fde fde;

	if (!eh_reader_fde_at(&section->reader, range->fde, &fde))
		return false;
	cfi_begin(program, &section->reader.frame, &section->reader.cies[cie],
		  &section->initials[cie], &fde);
	*ret_start = fde.start;
	return true;
}

bool cfi_sections_is_signal(const struct cfi_sections *sections, const struct text_range *range)
{
	return section_of(sections, range)->reader.cies[range->cie & ~CFI_IN_DEBUG_FRAME].signal;
}
