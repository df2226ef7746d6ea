/*
 * Machine code as text, in AT&T's syntax as objdump prints it. Capstone does it; its library is loaded
 * when the first instruction is asked for, because its tables are larger than the rest of sprof.
 */
#ifndef SPROF_DISASSEMBLY_H
#define SPROF_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct instruction {
	uint32_t offset; /* of its first byte in the code */
	uint32_t size;	 /* bytes */
	size_t text;	 /* where its text begins in disassembly.text; ends with a NUL */
	uint64_t target; /* where a call or jump goes to, linked; 0 = elsewhere, or none */
};

struct disassembly {
	struct instruction *list; /* without gaps; bytes that are no instruction are ".byte" */
	size_t nr;
	struct buffer text;
};

struct disassembler;

/* NULL where the library is missing; disassembler_library says which. */
struct disassembler *disassembler_open(void);
extern const char disassembler_library[];
void disassembler_close(struct disassembler *d); /* NULL is fine */

/* All of x86-64 code that is linked to run at vaddr; any bytes will do. */
void disassemble(struct disassembler *d, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct disassembly *ret);
void disassembly_fini(struct disassembly *code);

#endif
