/*
 * The length of an x86-64 instruction, and what it does to the stack: enough to follow a frame through
 * machine code (derived_rules.h), at some 10 ns each. Disassemblers say far more and take a hundred times
 * as long for the tens of megabytes of a numeric library. What it does not know it calls bad.
 *
 * Source: Intel SDM volume 2, chapter 2 (prefixes, ModRM, VEX, EVEX) and appendix A (opcode maps).
 */
#ifndef SPROF_INSTRUCTION_H
#define SPROF_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

/* Registers by the numbers of the instructions, which are not DWARF's. */
enum {
	INSTRUCTION_RSP = 4,
	INSTRUCTION_RBP = 5,
	INSTRUCTION_NO_REG = 255,
};

enum instruction_kind {
	INSTRUCTION_BAD =
		0,	   /* unknown, cut off, privileged, syscall, or what nobody does (ret $n) */
	INSTRUCTION_OTHER, /* changes registers of `writes`, and memory, and goes on */
	INSTRUCTION_NOP,
	INSTRUCTION_PUSH,     /* reg */
	INSTRUCTION_PUSH_ANY, /* 8 bytes that are nobody's register */
	INSTRUCTION_POP,      /* reg */
	INSTRUCTION_POP_FLAGS,
	INSTRUCTION_ADD,   /* reg += value, 64 bits, as all below */
	INSTRUCTION_AND,   /* reg &= value */
	INSTRUCTION_MOVE,  /* reg = base */
	INSTRUCTION_LEA,   /* reg = base + value */
	INSTRUCTION_LOAD,  /* reg = *(base + value) */
	INSTRUCTION_STORE, /* *(base + value) = reg */
	INSTRUCTION_LEAVE,
	INSTRUCTION_RET,
	INSTRUCTION_JUMP,	   /* to its end + value */
	INSTRUCTION_JUMP_IF,	   /* the same, or not */
	INSTRUCTION_CALL,	   /* its end + value */
	INSTRUCTION_CALL_INDIRECT, /* what a register or memory holds */
	INSTRUCTION_JUMP_INDIRECT,
	INSTRUCTION_STOP, /* ud2, int3, hlt: nothing comes after it */
};

struct instruction {
	uint8_t kind; /* enum instruction_kind */
	uint8_t length;
	uint8_t reg, base; /* base: INSTRUCTION_NO_REG where it is rip, absolute or has an index */
	uint16_t writes;   /* bit for each register it may change, of OTHER and JUMP_IF */
	int32_t value;
};

/* Decodes the instruction at the first of `size` bytes. BAD has length 0. */
struct instruction instruction_decode(const uint8_t *bytes, size_t size);

#endif
