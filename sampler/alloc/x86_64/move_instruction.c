/* Finds the operand that is relative to the pc by its ModRM byte. */
#include "sampler/alloc/x86_64/move_instruction.h"

#include <string.h>

#include "sampler/unwind/x86_64/instruction.h"

void code_put(struct code *c, const void *bytes, size_t size)
{
	if (size > CODE_MAX - c->size) {
		c->bad = true;
		return;
	}
	memcpy(c->bytes + c->size, bytes, size);
	c->size += size;
}

void code_put_distance(struct code *c, uint64_t to)
{
	int64_t distance = (int64_t)(to - (c->address + c->size + 4));
	int32_t short_distance = (int32_t)distance;

	c->bad |= distance != short_distance;
	code_put(c, &short_distance, sizeof(short_distance));
}

bool code_put_jump(struct code *c, uint64_t to)
{
	code_put(c, "\xe9", 1);
	code_put_distance(c, to);
	return !c->bad;
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || (byte & 0xf0) == 0x40;
}

/* Does the opcode have a ModRM byte? Of the opcodes that instruction_can_move() lets through. */
static bool has_modrm(bool two_bytes, uint8_t opcode)
{
	if (two_bytes)
		return !(opcode == 0x05 || opcode == 0x0b || opcode == 0xa2 ||
			 (opcode & 0xf0) == 0x80);
	return (opcode < 0x40 && (opcode & 7) < 4) || opcode == 0x63 || opcode == 0x69 ||
	       opcode == 0x6b || (opcode >= 0x80 && opcode <= 0x8f) || opcode == 0xc0 ||
	       opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
	       (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7 ||
	       opcode == 0xfe || opcode == 0xff;
}

/* The index of the ModRM byte if the operand is relative to the pc; 0: it is not. */
static size_t pc_operand(const uint8_t *bytes, size_t length)
{
	size_t at = 0;
	bool two_bytes;

	while (at + 1 < length && is_prefix(bytes[at]))
		at++;
	two_bytes = bytes[at] == 0x0f;
	at += two_bytes;
	if (at + 1 >= length || !has_modrm(two_bytes, bytes[at]))
		return 0;
	at++;
	return (bytes[at] & 0xc7) == 5 && at + 5 <= length ? at : 0;
}

bool instruction_can_move(const uint8_t *bytes, struct instruction in)
{
	size_t at = 0;

	if (!in.length)
		return false;
	while (at + 1 < in.length && is_prefix(bytes[at]))
		at++;
	switch (bytes[at]) {
	case 0x62:
	case 0xc4:
	case 0xc5: return false; /* EVEX and VEX */
	case 0x64:
	case 0x65:
	case 0x67:
	case 0xf0: return false; /* other prefixes: their operands are not looked for */
	case 0x0f:
		if (at + 1 < in.length && (bytes[at + 1] == 0x38 || bytes[at + 1] == 0x3a))
			return false; /* three bytes of opcode */
		break;
	default: break;
	}
	switch (in.kind) {
	case INSTRUCTION_OTHER:
	case INSTRUCTION_NOP:
	case INSTRUCTION_PUSH:
	case INSTRUCTION_PUSH_ANY:
	case INSTRUCTION_POP:
	case INSTRUCTION_ADD:
	case INSTRUCTION_AND:
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LEA:
	case INSTRUCTION_LEA_PC:
	case INSTRUCTION_LOAD:
	case INSTRUCTION_STORE:
	case INSTRUCTION_CONSTANT:
	case INSTRUCTION_JUMP: return true;
	case INSTRUCTION_JUMP_IF: return !(bytes[0] >= 0xe0 && bytes[0] <= 0xe3);
	default: return false; /* a call would push an address that no table knows */
	}
}

static bool move_branch(struct code *c, const uint8_t *bytes, uint64_t from, struct instruction in)
{
	uint64_t to = from + in.length + (uint64_t)(int64_t)in.value;

	if (in.kind == INSTRUCTION_JUMP)
		return code_put_jump(c, to);
	code_put(c,
		 (const uint8_t[]){
			 0x0f, (uint8_t)(0x80 | ((bytes[0] == 0x0f ? bytes[1] : bytes[0]) & 15)) },
		 2);
	code_put_distance(c, to);
	return !c->bad;
}

bool instruction_move(struct code *c, const uint8_t *bytes, uint64_t from, struct instruction in)
{
	size_t start = c->size, operand;
	int32_t was, now;
	int64_t distance;

	if (!instruction_can_move(bytes, in))
		return false;
	if (in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_JUMP_IF)
		return move_branch(c, bytes, from, in);
	code_put(c, bytes, in.length);
	operand = pc_operand(bytes, in.length);
	if (!operand || c->bad)
		return !c->bad;
	memcpy(&was, bytes + operand + 1, sizeof(was));
	distance = (int64_t)(from - (c->address + start)) + was;
	now = (int32_t)distance;
	memcpy(c->bytes + start + operand + 1, &now, sizeof(now));
	return distance == now;
}
