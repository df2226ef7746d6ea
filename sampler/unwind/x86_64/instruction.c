/*
 * Prefixes and one-byte opcodes. An instruction is decoded as hardware does it: prefixes, opcode
 * (which selects the map), ModRM, displacement, immediate.
 */
#include "sampler/unwind/x86_64/instruction_decoder.h"

#define MAX_LENGTH 15

/* An immediate of the operand size, at most 32 bits. */
static int32_t take_z(struct decoder *d)
{
	return (int32_t)decoder_take_signed(d, d->size_66 && !d->w ? 2 : 4);
}

/* Opcodes 00 to 3f: eight operations in eight forms; the last, cmp, writes nothing. */
static void arithmetic(struct decoder *d)
{
	bool writes = d->opcode < 0x38;

	if ((d->opcode & 7) < 4)
		decoder_take_modrm(d);
	switch (d->opcode & 7) {
	case 0: decoder_other(d, writes ? decoder_rm_written(d, true) : 0); break;
	case 1: decoder_other(d, writes ? decoder_rm_written(d, false) : 0); break;
	case 2: decoder_other(d, writes ? decoder_byte_reg(d, d->reg) : 0); break;
	case 3: decoder_other(d, writes ? REG(d->reg) : 0); break;
	case 4:
		decoder_take(d);
		decoder_other(d, RAX);
		break;
	case 5:
		take_z(d);
		decoder_other(d, RAX);
		break;
	default: d->bad = true;
	}
}

/* Opcodes 80 to 83: arithmetic with a constant. */
static void arithmetic_constant(struct decoder *d)
{
	uint8_t operation;
	int32_t value;

	decoder_take_modrm(d);
	operation = d->reg & 7;
	value = d->opcode == 0x81 ? take_z(d) : (int8_t)decoder_take(d);
	if (d->opcode == 0x82)
		d->bad = true;
	else if (operation == 7)
		decoder_other(d, 0);
	else if (d->opcode == 0x80 || d->mod != 3 || !d->w || value == INT32_MIN)
		decoder_other(d, decoder_rm_written(d, d->opcode == 0x80));
	else if (operation == 0 || operation == 5)
		decoder_finish(d, INSTRUCTION_ADD, d->rm, INSTRUCTION_NO_REG,
			       operation == 0 ? value : -value);
	else if (operation == 4)
		decoder_finish(d, INSTRUCTION_AND, d->rm, INSTRUCTION_NO_REG, value);
	else
		decoder_other(d, REG(d->rm));
}

/* Opcodes 88 to 8b and 8d. */
static void move(struct decoder *d)
{
	bool store = d->opcode == 0x89, wide = d->w && d->opcode != 0x88 && d->opcode != 0x8a;

	decoder_take_modrm(d);
	if (d->opcode == 0x8d) {
		if (d->mod == 3)
			d->bad = true;
		else if (d->w && d->base != INSTRUCTION_NO_REG)
			decoder_finish(d, INSTRUCTION_LEA, d->reg, d->base, d->displacement);
		else
			decoder_other(d, REG(d->reg));
		if (d->w && d->of_pc)
			decoder_finish(d, INSTRUCTION_LEA_PC, d->reg, INSTRUCTION_NO_REG,
				       d->displacement);
	} else if (wide && d->mod == 3) {
		decoder_finish(d, INSTRUCTION_MOVE, store ? d->rm : d->reg, store ? d->reg : d->rm,
			       0);
	} else if (wide && d->base != INSTRUCTION_NO_REG) {
		decoder_finish(d, store ? INSTRUCTION_STORE : INSTRUCTION_LOAD, d->reg, d->base,
			       d->displacement);
	} else if (d->opcode == 0x88 || d->opcode == 0x89) {
		decoder_other(d, decoder_rm_written(d, d->opcode == 0x88));
	} else {
		decoder_other(d, d->opcode == 0x8a ? decoder_byte_reg(d, d->reg) : REG(d->reg));
	}
}

/* Opcodes f6, f7, fe and ff. */
static void group(struct decoder *d)
{
	uint8_t operation;

	decoder_take_modrm(d);
	operation = d->reg & 7;
	if (d->opcode <= 0xf7) {
		if (operation < 2) {
			if (d->opcode == 0xf6)
				decoder_take(d);
			else
				take_z(d);
			decoder_other(d, 0);
		} else {
			decoder_other(d, operation < 4 ? decoder_rm_written(d, d->opcode == 0xf6)
						       : RAX | RDX);
		}
		return;
	}
	if (operation < 2)
		decoder_other(d, decoder_rm_written(d, d->opcode == 0xfe));
	else if (d->opcode == 0xff && operation == 2 && !d->size_66)
		decoder_finish(d, INSTRUCTION_CALL_INDIRECT, 0, 0, 0);
	else if (d->opcode == 0xff && operation == 4 && !d->size_66)
		decoder_finish(d, INSTRUCTION_JUMP_INDIRECT,
			       d->mod == 3 ? d->rm : INSTRUCTION_NO_REG, 0, 0);
	else if (d->opcode == 0xff && operation == 6 && !d->size_66)
		decoder_finish(d, INSTRUCTION_PUSH_ANY, 0, 0, 0);
	else
		d->bad = true;
}

/* Opcodes a0 to bf: string operations, and constants into registers. */
static void strings_and_constants(struct decoder *d)
{
	uint8_t op = d->opcode, low = (uint8_t)((op & 7) | d->b << 3);

	if (op >= 0xb8) {
		int64_t value = decoder_take_signed(d, d->w ? 8 : d->size_66 ? 2 : 4);

		decoder_other(d, REG(low));
		if (!d->w && !d->size_66)
			decoder_finish(d, INSTRUCTION_CONSTANT, low, INSTRUCTION_NO_REG,
				       (int32_t)value);
	} else if (op >= 0xb0) {
		decoder_take(d);
		decoder_other(d, decoder_byte_reg(d, low));
	} else if (op < 0xa4) {
		decoder_take_signed(d, d->address_67 ? 4 : 8);
		decoder_other(d, RAX);
	} else if (op == 0xa8) {
		decoder_take(d);
		decoder_other(d, 0);
	} else if (op == 0xa9) {
		take_z(d);
		decoder_other(d, 0);
	} else {
		decoder_other(d, RAX | RCX | RSI | RDI);
	}
}

static void shift_or_move_constant(struct decoder *d)
{
	bool byte = !(d->opcode & 1);
	int32_t value = 0;

	decoder_take_modrm(d);
	if (d->opcode == 0xc7) /* its constant has 2 bytes after 66 */
		value = take_z(d);
	else if (d->opcode < 0xd0)
		decoder_take(d);
	if ((d->opcode == 0xc6 || d->opcode == 0xc7) && (d->reg & 7))
		d->bad = true; /* xabort, xbegin */
	decoder_other(d, decoder_rm_written(d, byte));
	if (d->opcode == 0xc7 && d->mod == 3 && d->w)
		decoder_finish(d, INSTRUCTION_CONSTANT, d->rm, INSTRUCTION_NO_REG, value);
}

static void push_or_pop(struct decoder *d)
{
	uint8_t reg = (uint8_t)((d->opcode & 7) | d->b << 3);

	if (d->size_66)
		d->bad = true;
	decoder_finish(d, d->opcode < 0x58 ? INSTRUCTION_PUSH : INSTRUCTION_POP, reg,
		       INSTRUCTION_NO_REG, 0);
}

/* Opcodes 60 to 9f that are not handled elsewhere. */
static void one_byte_middle(struct decoder *d)
{
	switch (d->opcode) {
	case 0x63:
		decoder_take_modrm(d);
		decoder_other(d, REG(d->reg));
		break;
	case 0x68:
	case 0x6a:
		if (d->size_66)
			d->bad = true;
		if (d->opcode == 0x68)
			take_z(d);
		else
			decoder_take(d);
		decoder_finish(d, INSTRUCTION_PUSH_ANY, 0, 0, 0);
		break;
	case 0x69:
	case 0x6b:
		decoder_take_modrm(d);
		if (d->opcode == 0x69)
			take_z(d);
		else
			decoder_take(d);
		decoder_other(d, REG(d->reg));
		break;
	case 0x84:
	case 0x85:
		decoder_take_modrm(d);
		decoder_other(d, 0);
		break;
	case 0x86:
	case 0x87:
		decoder_take_modrm(d);
		if (d->opcode == 0x86)
			decoder_other(d, decoder_byte_reg(d, d->reg) | decoder_rm_written(d, true));
		else
			decoder_other(d, REG(d->reg) | decoder_rm_written(d, false));
		break;
	case 0x98: decoder_other(d, RAX); break;
	case 0x99: decoder_other(d, RDX); break;
	case 0x9b:
	case 0x9e: decoder_other(d, 0); break;
	case 0x9c:
	case 0x9d:
		if (d->size_66)
			d->bad = true;
		decoder_finish(d, d->opcode == 0x9c ? INSTRUCTION_PUSH_ANY : INSTRUCTION_POP_FLAGS,
			       0, 0, 0);
		break;
	case 0x9f: decoder_other(d, RAX); break;
	default: d->bad = true;
	}
}

/* Opcodes c0 to ff that are not handled elsewhere. */
static void one_byte_high(struct decoder *d)
{
	uint8_t op = d->opcode;

	if (op >= 0xd8 && op <= 0xdf) {
		decoder_take_modrm(d);
		decoder_other(d, op == 0xdf ? RAX : 0); /* fnstsw %ax */
		return;
	}
	switch (op) {
	case 0xc3: decoder_finish(d, INSTRUCTION_RET, 0, 0, 0); break;
	case 0xc9: decoder_finish(d, INSTRUCTION_LEAVE, 0, 0, 0); break;
	case 0xcc:
	case 0xf4: decoder_finish(d, INSTRUCTION_STOP, 0, 0, 0); break;
	case 0xd7: decoder_other(d, RAX); break;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		d->out.writes = RCX;
		decoder_branch(d, INSTRUCTION_JUMP_IF, 1);
		break;
	case 0xe8: decoder_branch(d, INSTRUCTION_CALL, 4); break;
	case 0xe9: decoder_branch(d, INSTRUCTION_JUMP, 4); break;
	case 0xeb: decoder_branch(d, INSTRUCTION_JUMP, 1); break;
	case 0xf5:
	case 0xf8:
	case 0xf9:
	case 0xfc:
	case 0xfd: decoder_other(d, 0); break;
	default: d->bad = true;
	}
	if (op == 0xc9 && d->size_66)
		d->bad = true;
}

static void one_byte(struct decoder *d)
{
	uint8_t op = d->opcode;

	if (op < 0x40)
		arithmetic(d);
	else if (op >= 0x50 && op < 0x60)
		push_or_pop(d);
	else if (op >= 0x70 && op < 0x80)
		decoder_branch(d, INSTRUCTION_JUMP_IF, 1);
	else if (op >= 0x80 && op < 0x84)
		arithmetic_constant(d);
	else if ((op >= 0x88 && op < 0x8c) || op == 0x8d)
		move(d);
	else if (op == 0x90 && !d->b)
		decoder_finish(d, INSTRUCTION_NOP, 0, 0, 0);
	else if (op >= 0x90 && op < 0x98)
		decoder_other(d, RAX | REG((op & 7) | d->b << 3));
	else if (op >= 0x60 && op < 0xa0)
		one_byte_middle(d);
	else if (op >= 0xa0 && op < 0xc0)
		strings_and_constants(d);
	else if (op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op < 0xd4))
		shift_or_move_constant(d);
	else if (op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff)
		group(d);
	else
		one_byte_high(d);
}

/* The bytes after c4, c5 or 62; the opcode is next. */
static void take_vex(struct decoder *d, uint8_t first)
{
	uint8_t p0 = 0, p1;

	if (d->rex || d->size_66 || d->lock || d->prefix)
		d->bad = true;
	d->evex = first == 0x62;
	d->vex = !d->evex;
	d->map = 1;
	if (first != 0xc5) {
		p0 = decoder_take(d);
		d->map = p0 & (d->evex ? 7 : 31);
		d->x = !(p0 >> 6 & 1);
		d->b = !(p0 >> 5 & 1);
		d->r = !(p0 >> 7);
	}
	p1 = decoder_take(d);
	if (first == 0xc5)
		d->r = !(p1 >> 7);
	else
		d->w = p1 >> 7;
	d->vvvv = ~p1 >> 3 & 15;
	d->prefix = p1 & 3;
	if (d->evex) {
		decoder_take(d);
		/* APX gives a meaning to bits that are fixed otherwise; it is not decoded */
		if ((p0 & 8) || !(p1 & 4))
			d->bad = true;
	}
	d->rex = true; /* no ah ch dh bh */
	d->opcode = decoder_take(d);
}

static void take_prefixes(struct decoder *d)
{
	for (;;) {
		uint8_t byte = decoder_take(d);

		if (byte == 0x66)
			d->size_66 = true;
		else if (byte == 0x67)
			d->address_67 = true;
		else if (byte == 0xf2 || byte == 0xf3)
			d->prefix = byte == 0xf2 ? PREFIX_F2 : PREFIX_F3;
		else if (byte == 0xf0)
			d->lock = true;
		else if ((byte & 0xe7) != 0x26 && byte != 0x64 && byte != 0x65) {
			d->opcode = byte;
			return;
		}
	}
}

static void take_opcode(struct decoder *d)
{
	take_prefixes(d);
	if ((d->opcode & 0xf0) == 0x40) {
		d->rex = true;
		d->w = d->opcode >> 3 & 1;
		d->r = d->opcode >> 2 & 1;
		d->x = d->opcode >> 1 & 1;
		d->b = d->opcode & 1;
		d->opcode = decoder_take(d);
	}
	if (d->opcode == 0xc4 || d->opcode == 0xc5 || d->opcode == 0x62) {
		take_vex(d, d->opcode);
		return;
	}
	if (d->size_66 && !d->prefix)
		d->prefix = PREFIX_66;
	if (d->opcode != 0x0f)
		return;
	d->map = 1;
	d->opcode = decoder_take(d);
	if (d->opcode == 0x38 || d->opcode == 0x3a) {
		d->map = d->opcode == 0x38 ? 2 : 3;
		d->opcode = decoder_take(d);
	}
}

struct instruction instruction_decode(const uint8_t *bytes, size_t size)
{
	struct decoder d = { .bytes = bytes, .size = size < MAX_LENGTH ? size : MAX_LENGTH };

	take_opcode(&d);
	if (d.bad)
		return (struct instruction){ .kind = INSTRUCTION_BAD };
	switch (d.map) {
	case 0: one_byte(&d); break;
	case 1: decoder_map1(&d); break;
	case 2: decoder_map2(&d); break;
	case 3: decoder_map3(&d); break;
	case 5: /* half precision: as map 1, without the opcodes that have a constant */
		if (d.evex) {
			decoder_take_modrm(&d);
			decoder_other(&d, decoder_map1_writes(&d));
			break;
		}
		return (struct instruction){ .kind = INSTRUCTION_BAD };
	case 6:
		if (d.evex) {
			decoder_map2(&d);
			break;
		}
		return (struct instruction){ .kind = INSTRUCTION_BAD };
	default: d.bad = true;
	}
	if (d.bad)
		return (struct instruction){ .kind = INSTRUCTION_BAD };
	d.out.length = (uint8_t)d.at;
	return d.out;
}
