/* Runs a line number program for the lines of given addresses. */
#ifndef SPROF_LINE_PROGRAM_H
#define SPROF_LINE_PROGRAM_H

#include "symbolizer/dwarf/dwarf_file.h"

/* What the header of a line table says about its program. */
struct dwarf_line_program {
	struct cursor code;
	uint8_t min_instruction; /* bytes that one step of the address stands for */
	int8_t line_base;
	uint8_t line_range; /* 0: cannot be run */
	uint8_t opcode_base;
	uint8_t nr_operands[256]; /* of standard opcodes, by opcode */
};

struct dwarf_line {
	uint32_t file, line;
	bool known;
};

/*
 * Sets ret_lines[i] for each of the addresses, sorted, that the program has a row for; leaves the
 * others as they are.
 */
void dwarf_line_program_run(const struct dwarf_line_program *program, struct dwarf_file *file,
			    const uint64_t *addresses, size_t nr, struct dwarf_line *ret_lines);

#endif
