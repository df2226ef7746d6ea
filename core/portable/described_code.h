/*
 * The head of machine code that sprof writes into a target and that brings its own call frame
 * information, as the hooks of allocation functions do. Any recorder that meets the code can unwind
 * through it, whichever recorder has written it. A target can write such a head too, so a reader
 * trusts it no more than the .eh_frame of a file.
 */
#ifndef SPROF_DESCRIBED_CODE_H
#define SPROF_DESCRIBED_CODE_H

#include <linux/types.h>

#define DESCRIBED_CODE_MAGIC 0x31434f4c4c415253ull /* "SRALLOC1" */

struct described_code {
	__u64 magic;
	__u32 size;	/* of code and call frame information that are there from the beginning */
	__u32 eh_frame; /* where the latter begins, counted from the head; more may follow it */
};
_Static_assert(sizeof(struct described_code) == 16, "no holes");

#endif
