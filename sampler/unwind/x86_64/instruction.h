/*
 * Decodes the length of an x86-64 instruction and what it does to the stack: enough to follow a
 * frame through machine code (derived_rules.h), at about 10 ns each. A disassembler tells far more
 * and takes a hundred times as long, too long for the tens of megabytes of a numeric library. An
 * instruction that the decoder does not know is INSTRUCTION_BAD.
 *
 * Source: Intel SDM volume 2, chapter 2 (prefixes, ModRM, VEX, EVEX) and appendix A (opcode maps).
 */
#ifndef SPROF_INSTRUCTION_H
#define SPROF_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

/* Registers by the numbers that instructions use, which are not DWARF's. */
enum {
	INSTRUCTION_RSP = 4,
	INSTRUCTION_RBP = 5,
	INSTRUCTION_NO_REG = 255,
};

enum instruction_kind {
	/* Unknown, cut off, privileged, or never seen in programs (ret $n). */
	INSTRUCTION_BAD = 0,
	INSTRUCTION_OTHER, /* changes the registers of `writes` and memory, and continues */
	INSTRUCTION_NOP,
	INSTRUCTION_PUSH,     /* reg */
	INSTRUCTION_PUSH_ANY, /* 8 bytes that are not a register's value */
	INSTRUCTION_POP,      /* reg */
	INSTRUCTION_POP_FLAGS,
	INSTRUCTION_ADD,   /* reg += value; 64 bits, as everything below */
	INSTRUCTION_AND,   /* reg &= value */
	INSTRUCTION_MOVE,  /* reg = base */
	INSTRUCTION_LEA,   /* reg = base + value */
	INSTRUCTION_LOAD,  /* reg = *(base + value) */
	INSTRUCTION_STORE, /* *(base + value) = reg */
	INSTRUCTION_LEAVE,
	INSTRUCTION_RET,
	INSTRUCTION_JUMP,	   /* to its end + value */
	INSTRUCTION_JUMP_IF,	   /* to its end + value, or on */
	INSTRUCTION_CALL,	   /* of its end + value */
	INSTRUCTION_CALL_INDIRECT, /* of what a register or memory holds */
	INSTRUCTION_JUMP_INDIRECT, /* to what reg holds, or memory (INSTRUCTION_NO_REG) */
	INSTRUCTION_STOP,	   /* ud2, int3, hlt: execution does not continue */
	/* These change `writes` too, as OTHER does. */
	INSTRUCTION_LEA_PC,   /* reg = its end + value */
	INSTRUCTION_CONSTANT, /* reg = value */
	INSTRUCTION_SYSCALL,
};

struct instruction {
	uint8_t kind; /* enum instruction_kind */
	uint8_t length;
	uint8_t reg, base; /* base: INSTRUCTION_NO_REG for rip, absolute or indexed */
	uint16_t writes; /* OTHER, JUMP_IF and the last: a bit for each register that may change */
	int32_t value;
};

/* Decodes the instruction at the first of `size` bytes. BAD has length 0. */
struct instruction instruction_decode(const uint8_t *bytes, size_t size);

#endif
