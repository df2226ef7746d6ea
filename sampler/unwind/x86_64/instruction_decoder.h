/*
 * The inside of the decoder of instruction.h. instruction_decoder.c reads bytes and operands,
 * opcode_maps.c has the opcodes behind 0f, VEX and EVEX, instruction.c the prefixes and the opcodes
 * of one byte.
 */
#ifndef SPROF_INSTRUCTION_DECODER_H
#define SPROF_INSTRUCTION_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/unwind/x86_64/instruction.h"

#define REG(n) (1u << (n))
#define RAX REG(0)
#define RCX REG(1)
#define RDX REG(2)
#define RBX REG(3)
#define RSI REG(6)
#define RDI REG(7)

enum { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 }; /* as VEX numbers them */

struct decoder {
	const uint8_t *bytes;
	size_t size, at;
	bool bad; /* cut off or invalid */
	bool size_66, address_67, lock, rex, vex, evex;
	uint8_t w, r, x, b; /* of REX, VEX or EVEX: 0 or 1 */
	uint8_t prefix, map, opcode, vvvv;
	/* ModRM */
	uint8_t mod, reg, rm; /* reg and rm with their extensions */
	uint8_t base;
	bool of_pc; /* the operand is relative to the end of the instruction */
	int32_t displacement;
	struct instruction out;
};

uint8_t decoder_take(struct decoder *d);
int64_t decoder_take_signed(struct decoder *d, unsigned int size);
void decoder_take_modrm(struct decoder *d);

/* Set the result. decoder_other() adds registers that are changed. */
void decoder_finish(struct decoder *d, enum instruction_kind kind, uint8_t reg, uint8_t base,
		    int32_t value);
void decoder_other(struct decoder *d, uint32_t writes);
/* A branch with a distance of one or four bytes. */
void decoder_branch(struct decoder *d, enum instruction_kind kind, unsigned int size);
/* The mask of an 8-bit register: without REX, 4 to 7 are ah ch dh bh. */
uint32_t decoder_byte_reg(const struct decoder *d, uint8_t reg);
/* The mask of the register that ModRM names as rm; 0 where rm is memory. */
uint32_t decoder_rm_written(const struct decoder *d, bool byte);

/* Decode the opcode d->opcode of a map; the next byte is the one after it. */
void decoder_map1(struct decoder *d);
void decoder_map2(struct decoder *d);
void decoder_map3(struct decoder *d);
/* The general registers that an opcode of map 1 with a ModRM changes; VEX and EVEX too. */
uint32_t decoder_map1_writes(const struct decoder *d);

#endif
