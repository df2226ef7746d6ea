/*
 * Loads .debug_frame, which may be compressed: from the file itself, or from its separate debug
 * file. Both are untrusted: what the section takes is limited as in core/base/elf_file.h.
 */
#ifndef SPROF_DEBUG_FRAME_H
#define SPROF_DEBUG_FRAME_H

#include <stdint.h>

#include "core/base/build_id.h"
#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"

#define DEBUG_NAME_MAX 256

/* What an ELF file says about its debug file. */
struct debug_names {
	uint32_t build_id_size; /* 0: it has no build-id */
	uint8_t build_id[BUILD_ID_MAX];
	char link[DEBUG_NAME_MAX]; /* of .gnu_debuglink; "": there is none */
};

/*
 * Opens the candidates for a debug file (core/base/debug_paths.h), for a process that may open
 * nothing. They are numbered from 0 on; the first that belongs to the file counts.
 */
struct debug_files {
	/*
	 * A descriptor, which is the caller's; -ENODATA: there are no more candidates; or the error
	 * of opening this one.
	 */
	int (*open)(struct debug_files *files, const struct debug_names *names,
		    unsigned int candidate);
};

/*
 * ret_frame->data is on the heap and the caller's. files: NULL: the debug file is not looked for.
 * -ENODATA: there is no section that can be used. That of Go programs cannot: it says neither that
 * functions save rbp nor that some switch stacks.
 */
int debug_frame_load(const struct unwind_image *image, struct debug_files *files,
		     struct eh_frame *ret_frame);

#endif
