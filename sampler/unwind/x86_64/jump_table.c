/*
 * Reads the straight line backwards from the jump. An instruction in between that may change a
 * register that matters ends the search.
 */
#include "sampler/unwind/x86_64/jump_table.h"

#include <string.h>

#include "sampler/unwind/x86_64/instruction.h"

#define MAX_ENTRIES 4096u

/* A text and a place in the straight line. */
struct reader {
	const uint8_t *text;
	size_t size;
	uint64_t vaddr;
	const struct straight_line *line;
	uint32_t back; /* 0 = the latest instruction */
};

/* A memory operand with base and index, and the register of the same instruction. */
struct indexed {
	uint8_t reg, base, index, scale;
};

void straight_line_add(struct straight_line *line, uint32_t at)
{
	line->at[line->nr++ % STRAIGHT_LINE_MAX] = at;
}

/* Steps back by one instruction. false: there is none left. */
static bool step_back(struct reader *r, uint32_t *ret_at)
{
	if (r->back >= r->line->nr || r->back >= STRAIGHT_LINE_MAX)
		return false;
	*ret_at = r->line->at[(r->line->nr - 1 - r->back++) % STRAIGHT_LINE_MAX];
	return true;
}

static struct instruction decode(const struct reader *r, uint32_t at)
{
	return instruction_decode(r->text + at, r->size - at);
}

static bool writes(const struct instruction *in, uint8_t reg)
{
	switch (in->kind) {
	case INSTRUCTION_POP:
	case INSTRUCTION_ADD:
	case INSTRUCTION_AND:
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LEA:
	case INSTRUCTION_LOAD: return in->reg == reg;
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_INDIRECT: return reg < 3 || (reg > 5 && reg < 12);
	case INSTRUCTION_LEAVE: return reg == INSTRUCTION_RSP || reg == INSTRUCTION_RBP;
	default: return in->writes >> reg & 1;
	}
}

/* Searches back for the lea that sets `reg`. */
static bool find_lea(struct reader r, uint8_t reg, uint64_t *ret_vaddr)
{
	uint32_t at;

	while (step_back(&r, &at)) {
		struct instruction in = decode(&r, at);

		if (in.kind == INSTRUCTION_LEA_PC && in.reg == reg) {
			*ret_vaddr = r.vaddr + at + in.length + (uint64_t)(int64_t)in.value;
			return true;
		}
		if (writes(&in, reg))
			return false;
	}
	return false;
}

/* "add %from, %to" of 64 bits. */
static bool is_add(const uint8_t *bytes, uint8_t *ret_from, uint8_t *ret_to)
{
	uint8_t reg = (uint8_t)((bytes[2] >> 3 & 7) | (bytes[0] & 4) << 1);
	uint8_t rm = (uint8_t)((bytes[2] & 7) | (bytes[0] & 1) << 3);

	if ((bytes[0] & 0xf8) != 0x48 || bytes[2] >> 6 != 3 ||
	    (bytes[1] != 0x01 && bytes[1] != 0x03))
		return false;
	*ret_from = bytes[1] == 0x01 ? reg : rm;
	*ret_to = bytes[1] == 0x01 ? rm : reg;
	return true;
}

/* "movslq (%base,%index,4), %reg", with a displacement of 0 or none. */
static bool is_load_of_entry(const uint8_t *bytes, struct indexed *ret)
{
	uint8_t mod = bytes[2] >> 6, sib = bytes[3];

	if ((bytes[0] & 0xf8) != 0x48 || bytes[1] != 0x63 || (bytes[2] & 7) != 4 || sib >> 6 != 2)
		return false;
	*ret = (struct indexed){
		.reg = (uint8_t)((bytes[2] >> 3 & 7) | (bytes[0] & 4) << 1),
		.base = (uint8_t)((sib & 7) | (bytes[0] & 1) << 3),
		.index = (uint8_t)((sib >> 3 & 7) | (bytes[0] & 2) << 2),
	};
	return mod == 0 ? (sib & 7) != 5 : mod == 1 && !bytes[4];
}

/* The constant that "cmp $value, operand" compares with. */
static bool is_compare(const uint8_t *bytes, size_t size, uint32_t *ret_value)
{
	struct instruction in = instruction_decode(bytes, size);
	size_t i = 0;

	if (in.kind != INSTRUCTION_OTHER || in.writes)
		return false;
	while (i < in.length && (bytes[i] == 0x66 || (bytes[i] & 0xf0) == 0x40))
		i++;
	if (i + 2 > in.length)
		return false;
	if (bytes[i] == 0x3c) {
		*ret_value = bytes[i + 1];
	} else if (bytes[i] == 0x3d && in.length >= i + 5) {
		memcpy(ret_value, bytes + i + 1, 4);
	} else if ((bytes[i] == 0x80 || bytes[i] == 0x83) && (bytes[i + 1] >> 3 & 7) == 7) {
		*ret_value = bytes[in.length - 1];
	} else if (bytes[i] == 0x81 && (bytes[i + 1] >> 3 & 7) == 7 && !(i && bytes[0] == 0x66)) {
		memcpy(ret_value, bytes + in.length - 4, 4);
	} else {
		return false;
	}
	return true;
}

/* The nearest "cmp $value; ja" before the jump gives the number of entries; 0 without one. */
static uint32_t find_nr_entries(struct reader r)
{
	uint32_t at, value;

	while (step_back(&r, &at)) {
		const uint8_t *bytes = r.text + at;
		struct instruction in = decode(&r, at);
		bool above;

		if (in.kind != INSTRUCTION_JUMP_IF)
			continue;
		above = bytes[0] == 0x77 || (bytes[0] == 0x0f && bytes[1] == 0x87);
		if (!above || !step_back(&r, &at) ||
		    !is_compare(r.text + at, r.size - at, &value) || value >= MAX_ENTRIES)
			return 0;
		return value + 1;
	}
	return 0;
}

/* jmp *table(,%index,8) */
static bool find_absolute(const struct reader *r, uint32_t at, struct jump_table *ret)
{
	const uint8_t *bytes = r->text + at;
	struct instruction in = decode(r, at);
	uint8_t length = in.length;
	int32_t address;

	if (length < 7 || in.reg != INSTRUCTION_NO_REG)
		return false;
	bytes += length - 7;
	memcpy(&address, bytes + 3, sizeof(address));
	if (bytes[0] != 0xff || bytes[1] != 0x24 || (bytes[2] & 0xc7) != 0xc5 || address < 0)
		return false;
	*ret = (struct jump_table){ .vaddr = (uint64_t)address };
	return true;
}

/* movslq, add and jmp, with a base that lea sets. */
static bool find_relative(struct reader r, uint8_t to, struct jump_table *ret)
{
	uint8_t from = INSTRUCTION_NO_REG, sum;
	struct indexed entry;
	uint32_t at;

	while (step_back(&r, &at)) {
		struct instruction in = decode(&r, at);
		const uint8_t *bytes = r.text + at;

		if (from == INSTRUCTION_NO_REG && in.length == 3 && is_add(bytes, &from, &sum)) {
			if (sum != to)
				return false;
			continue;
		}
		if (from != INSTRUCTION_NO_REG && in.length >= 4 &&
		    is_load_of_entry(bytes, &entry) && (entry.reg == to || entry.reg == from)) {
			if (entry.base != (entry.reg == to ? from : to))
				return false;
			*ret = (struct jump_table){ .relative = true };
			return find_lea(r, entry.base, &ret->vaddr);
		}
		if (writes(&in, to) || (from != INSTRUCTION_NO_REG && writes(&in, from)))
			return false;
	}
	return false;
}

bool jump_table_find(const uint8_t *text, size_t size, uint64_t text_vaddr,
		     const struct straight_line *line, struct jump_table *ret)
{
	struct reader r = { text, size, text_vaddr, line, 0 };
	struct instruction in;
	uint32_t at;

	if (!step_back(&r, &at))
		return false;
	in = decode(&r, at);
	if (in.kind != INSTRUCTION_JUMP_INDIRECT)
		return false;
	if (!find_absolute(&r, at, ret) &&
	    (in.reg == INSTRUCTION_NO_REG || !find_relative(r, in.reg, ret)))
		return false;
	ret->nr_entries = find_nr_entries(r);
	return true;
}

bool jump_slot_find(const uint8_t *code, size_t size, uint64_t vaddr, uint64_t *ret_slot)
{
	size_t at = size && code[0] == 0xf2; /* bnd, as in old tables of imports */
	int32_t distance;

	if (size < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&distance, code + at + 2, sizeof(distance));
	*ret_slot = vaddr + at + 6 + (uint64_t)(int64_t)distance;
	return true;
}
