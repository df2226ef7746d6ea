/*
 * The parts of an ELF file that unwinding needs: where its text is, and its .eh_frame. Files are
 * read with pread() and never mapped, so that a truncated file gives an error and not a SIGBUS.
 * They are untrusted.
 *
 * Source: System V gABI chapters 4 and 5; LSB 5.0 "Exception Frames" for .eh_frame_hdr.
 */
#ifndef SPROF_IMAGE_H
#define SPROF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/elf_headers.h"
#include "sampler/unwind/eh_frame.h"

struct code_segment; /* core/sandbox/confined_headers.h */

struct unwind_segment {
	uint64_t vaddr, offset, size; /* of the part that the file has */
	bool executable;
};

/* A table of symbols by the section headers; size 0 = there is none. */
struct unwind_symbols {
	uint64_t offset, size; /* in the file */
};

struct unwind_image {
	struct elf_source source;
	struct elf_headers headers;	 /* with the sections */
	struct unwind_segment *segments; /* PT_LOAD */
	size_t nr_segments;
	/* By the section headers; start = end where there are none. */
	uint64_t code_start, code_end;	 /* span of the sections that hold code */
	uint64_t eh_frame, eh_frame_end; /* virtual addresses */
	uint64_t eh_frame_offset;	 /* in the file */
	struct unwind_symbols symtab, dynsym;
	uint64_t eh_frame_hdr, eh_frame_hdr_size; /* virtual address; size 0 = there is none */
};

/*
 * Reads the headers of an x86-64 ELF file. The descriptor or the memory stays the caller's and must
 * outlive the image. -ENOEXEC: not such a file; or the error of reading it.
 */
int unwind_image_open(struct unwind_image *image, int fd);
int unwind_image_open_memory(struct unwind_image *image, const void *memory, size_t size);
/*
 * The same of executable segments that are known already; nothing is parsed. -ENOEXEC: there are
 * none.
 */
int unwind_image_open_segments(struct unwind_image *image, int fd,
			       const struct code_segment *segments, size_t nr);
void unwind_image_close(struct unwind_image *image);

/* Reads exactly `size` bytes at a file offset. -ERANGE: beyond the end; or the error of pread(). */
int unwind_image_read(const struct unwind_image *image, uint64_t offset, void *buffer, size_t size);
/* The same at a virtual address. -ENODATA: no segment has all of these bytes. */
int unwind_image_read_at(const struct unwind_image *image, uint64_t vaddr, void *buffer,
			 size_t size);

/* The segment that contains a virtual address, or NULL. */
const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t vaddr);

/*
 * Loads .eh_frame; ret_frame->data is on the heap and the caller's. -ENODATA: there is none.
 * -EFBIG: it is larger than 256 MiB, more than the walker's tables could hold.
 */
int unwind_image_load_eh_frame(const struct unwind_image *image, struct eh_frame *ret_frame);

/*
 * The search table that linkers put into .eh_frame_hdr: where the FDE of a function lies, sorted by
 * address. A look-up reads two dozen words of the file and keeps nothing. What the table says is
 * checked against the FDE itself.
 */
struct fde_header {
	uint64_t vaddr;	 /* of the header */
	uint64_t offset; /* of the first entry, in the file */
	uint64_t nr;	 /* entries */
};

/* -ENODATA: there is no table of the kind that linkers make; or the error of reading it. */
int fde_header_open(struct fde_header *header, const struct unwind_image *image);

/* The function that contains a virtual address, and the address of its FDE. false: none does. */
bool fde_header_find(const struct fde_header *header, const struct unwind_image *image,
		     uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end, uint64_t *ret_fde);

#endif
