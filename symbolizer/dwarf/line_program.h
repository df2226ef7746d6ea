/* Runs a line number program to find the lines of given addresses. */
#ifndef SPROF_LINE_PROGRAM_H
#define SPROF_LINE_PROGRAM_H

#include "symbolizer/dwarf/dwarf_file.h"

/* The parameters of a program, from the header of its line table. */
struct dwarf_line_program {
	struct cursor code;
	uint8_t min_instruction; /* bytes by which one step advances the address */
	int8_t line_base;
	uint8_t line_range; /* 0: the program cannot be run */
	uint8_t opcode_base;
	uint8_t nr_operands[256]; /* operands of standard opcodes, by opcode */
};

struct dwarf_line {
	uint32_t file, line;
	bool known;
};

/*
 * Sets ret_lines[i] for each of the addresses, sorted, that the program has a row for, and leaves
 * the others unchanged.
 */
void dwarf_line_program_run(const struct dwarf_line_program *program, struct dwarf_file *file,
			    const uint64_t *addresses, size_t nr, struct dwarf_line *ret_lines);

#endif
