/*
 * Machine code as text, in the AT&T syntax that objdump prints. Capstone does the work. Its library
 * is loaded with the first instruction, because its tables are larger than the rest of sprof.
 */
#ifndef SPROF_DISASSEMBLY_H
#define SPROF_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct instruction {
	uint32_t offset; /* offset of its first byte in the code */
	uint32_t size;	 /* bytes */
	size_t text;	 /* offset of its text in disassembly.text; the text ends with a NUL */
	uint64_t target; /* linked address that a direct call or jump goes to; 0 = none known */
};

struct disassembly {
	struct instruction *list; /* without gaps; bytes that are not an instruction are ".byte" */
	size_t nr;
	struct buffer text;
};

struct disassembler;

/* NULL if the library is missing; disassembler_library is its name. */
struct disassembler *disassembler_open(void);
extern const char disassembler_library[];
void disassembler_close(struct disassembler *d); /* NULL is fine */

/* Disassembles all of the x86-64 code that is linked to run at vaddr; any bytes are accepted. */
void disassemble(struct disassembler *d, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct disassembly *ret);
void disassembly_fini(struct disassembly *code);

#endif
