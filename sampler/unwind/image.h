/*
 * The parts of an ELF file that unwinding needs: where its text is, and its .eh_frame. Reads with
 * pread() what is asked for and maps nothing: a file that is truncated under us gives an error, not
 * a SIGBUS. Nothing in the file is believed.
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

struct unwind_segment {
	uint64_t vaddr, offset, size; /* as far as the file backs it */
	bool executable;
};

/* A table of symbols, as the section headers give it; size 0 = there is none. */
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
 * Reads the headers of an x86-64 ELF file. The descriptor, or the memory, must outlive the image and
 * is not closed. -ENOEXEC: not such a file; or why it cannot be read.
 */
int unwind_image_open(struct unwind_image *image, int fd);
int unwind_image_open_memory(struct unwind_image *image, const void *memory, size_t size);
void unwind_image_close(struct unwind_image *image);

/* Exactly `size` bytes at a file offset. -ERANGE: beyond the end; or the error of pread(). */
int unwind_image_read(const struct unwind_image *image, uint64_t offset, void *buffer, size_t size);

/* The segment that holds a virtual address, or NULL. */
const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t vaddr);

/*
 * Loads .eh_frame; ret_frame->data is malloc'ed and the caller's. -ENODATA: there is none. -EFBIG:
 * larger than 256 MiB, which no table within the walker's limits comes from.
 */
int unwind_image_load_eh_frame(const struct unwind_image *image, struct eh_frame *ret_frame);

#endif
