/*
 * Reads .eh_frame, a list of CIEs and FDEs. A CIE has what many functions share; an FDE has the
 * addresses of one function and its CFA program, which cfi.h interprets. .debug_frame is such a
 * list too, but names CIEs in another way and has plain addresses.
 *
 * Source: LSB 5.0 core, "Exception Frames"; DWARF 5 section 6.4.1. Input is untrusted: an invalid
 * entry is skipped and counted, and a length that leads out of the section ends the list.
 */
#ifndef SPROF_EH_FRAME_H
#define SPROF_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"

struct eh_frame {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;	  /* of data[0]: most pointers inside are relative to themselves */
	size_t min_fdes;  /* a terminator before so many FDEs is a stray one inside the list */
	bool debug_frame; /* it is a .debug_frame */
};

struct eh_cie {
	size_t offset; /* of its first byte in the section, by which FDEs name it */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointer_encoding; /* of addresses in its FDEs (DW_EH_PE_*) */
	bool signal;		  /* its functions are signal trampolines */
	bool augmented;		  /* its FDEs have augmentation data */
	const uint8_t *program;	  /* initial CFA instructions */
	size_t program_size;
};

struct eh_fde {
	uint64_t start, length; /* virtual addresses covered; the length may be 0 */
	size_t offset;		/* of its first byte in the section */
	size_t cie;		/* index in eh_reader.cies */
	const uint8_t *program;
	size_t program_size;
};

struct eh_reader {
	struct eh_frame frame;
	size_t offset; /* next entry */
	size_t nr_fdes, nr_broken;
	struct eh_cie *cies; /* ascending offsets */
	size_t nr_cies, cies_capacity;
};

/* `frame->data` must outlive the reader. */
void eh_reader_init(struct eh_reader *reader, const struct eh_frame *frame);
void eh_reader_fini(struct eh_reader *reader);

/* The next valid FDE in the section's order; false at the end. May move reader->cies. */
bool eh_reader_next(struct eh_reader *reader, struct eh_fde *ret_fde);

/* The FDE at an offset that eh_reader_next() gave. */
bool eh_reader_fde_at(const struct eh_reader *reader, size_t offset, struct eh_fde *ret_fde);

/*
 * Reads a pointer in a DW_EH_PE_* encoding; bytes->at lies in the section. Absolute and
 * self-relative pointers are all that .eh_frame needs; others set bytes->bad.
 */
uint64_t eh_read_pointer(const struct eh_frame *frame, struct cursor *bytes, uint8_t encoding);

#endif
