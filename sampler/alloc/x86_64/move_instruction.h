/*
 * Code that is generated for another address, and instructions that are moved there: distances of
 * jumps, calls and operands relative to the pc are written anew.
 */
#ifndef SPROF_MOVE_INSTRUCTION_H
#define SPROF_MOVE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_MAX 256u

struct instruction;

/* Code as it grows. What does not fit, or is too far away, sets `bad`. */
struct code {
	uint64_t address; /* where it will lie */
	uint8_t bytes[CODE_MAX];
	size_t size;
	bool bad;
};

void code_put(struct code *code, const void *bytes, size_t size);
/* The 32-bit distance from its own end to `to`. */
void code_put_distance(struct code *code, uint64_t to);
/* A jump; false where it does not fit. */
bool code_put_jump(struct code *code, uint64_t to);

/* Is it known how to move the instruction at `bytes`? */
bool instruction_can_move(const uint8_t *bytes, struct instruction in);
/* Moves it from the address `from` to the end of the code. false: that is too far. */
bool instruction_move(struct code *code, const uint8_t *bytes, uint64_t from,
		      struct instruction in);

#endif
