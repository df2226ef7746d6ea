/*
 * Loads .debug_frame, which may be compressed. Files are untrusted: what the section takes is
 * limited as in core/base/elf_file.h.
 */
#ifndef SPROF_DEBUG_FRAME_H
#define SPROF_DEBUG_FRAME_H

#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"

/*
 * ret_frame->data is on the heap and the caller's. -ENODATA: there is none that can be used. That
 * of Go programs cannot: it says neither that functions save rbp nor that some switch stacks.
 */
int debug_frame_load(const struct unwind_image *image, struct eh_frame *ret_frame);

#endif
