/*
 * All call frame information of an ELF file: .eh_frame, and .debug_frame for functions that it does
 * not describe. Compilers write the latter, for debuggers, where they are told to write no unwind
 * tables (-fno-asynchronous-unwind-tables, -fno-exceptions). It may lie in a separate debug file.
 */
#ifndef SPROF_CFI_SECTIONS_H
#define SPROF_CFI_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/unwind/cfi.h"
#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"
#include "sampler/unwind/text_ranges.h"

/* Gaps of so many bytes between functions are padding, not code. */
#define CFI_MAX_PADDING 15

/* Set in text_range.cie: the FDE is one of .debug_frame. */
#define CFI_IN_DEBUG_FRAME (1u << 31)

struct debug_files;

struct cfi_section {
	struct eh_reader reader;
	struct cfi_state *initials; /* one for each CIE */
};

struct cfi_sections {
	struct cfi_section eh, debug;
};

/*
 * Collects the FDEs of the image's text in *ret_ranges, sorted; `files` as in debug_frame_load().
 * Both results are to be finished, on failure too. 0 even if there are no FDEs; or the error of reading the file.
 */
int cfi_sections_collect(struct cfi_sections *sections, const struct unwind_image *image,
			 struct debug_files *files, struct text_ranges *ret_ranges);
void cfi_sections_fini(struct cfi_sections *sections);

/* Begins the CFA program of a range. false: its FDE cannot be read. */
bool cfi_sections_begin(const struct cfi_sections *sections, const struct text_range *range,
			struct cfi_program *program, uint64_t *ret_start);
/* Is it a signal trampoline? */
bool cfi_sections_is_signal(const struct cfi_sections *sections, const struct text_range *range);

#endif
