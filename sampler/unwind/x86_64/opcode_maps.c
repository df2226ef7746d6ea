/*
 * The opcodes of maps 0f, 0f38 and 0f3a, with and without VEX and EVEX. Most of them work on vector
 * registers; what counts here is their length, and which general registers they change.
 */
#include "sampler/unwind/x86_64/instruction_decoder.h"

uint32_t decoder_map1_writes(const struct decoder *d)
{
	uint8_t op = d->opcode;
	uint32_t reg = REG(d->reg), rm = decoder_rm_written(d, false);
	bool scalar = d->prefix == PREFIX_F3 || d->prefix == PREFIX_F2;

	if (op == 0x2c || op == 0x2d || (d->evex && (op == 0x78 || op == 0x79)))
		return scalar ? reg : 0; /* conversions to integers */
	if (op == 0x50 || op == 0xc5 || op == 0xd7)
		return reg; /* movmsk, pextrw, pmovmskb */
	if (op == 0x7e)
		return d->prefix == PREFIX_F3 ? 0 : rm;
	if (d->vex || d->evex)
		return op == 0x93 && d->vex ? reg : 0; /* kmov */
	if (op >= 0x40 && op < 0x50)
		return reg;
	if (op >= 0x90 && op < 0xa0)
		return decoder_rm_written(d, true);
	switch (op) {
	case 0x1e: return d->prefix == PREFIX_F3 && (d->reg & 7) == 1 ? rm : 0; /* rdssp */
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xb3:
	case 0xbb: return rm;
	case 0xae: return d->prefix == PREFIX_F3 ? rm : 0; /* rdfsbase */
	case 0xaf:
	case 0xb6:
	case 0xb7:
	case 0xb8:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf: return reg;
	case 0xb0: return decoder_rm_written(d, true) | RAX;
	case 0xb1: return rm | RAX;
	case 0xba: return (d->reg & 7) == 4 ? 0 : rm;
	case 0xc0: return decoder_rm_written(d, true) | decoder_byte_reg(d, d->reg);
	case 0xc1: return rm | reg;
	case 0xc7: return RAX | RDX | rm; /* cmpxchg16b, rdrand */
	default: return 0;
	}
}

static bool map1_has_byte(uint8_t op)
{
	return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
	       (op >= 0xc4 && op <= 0xc6);
}

/* Opcodes of map 0f that are privileged, unknown to us or not used by programs. */
static bool map1_is_bad(const struct decoder *d)
{
	uint8_t op = d->opcode;

	if (d->vex || d->evex)
		return op < 0x10 || (op >= 0x80 && op < 0x90) ||
		       (op >= 0xa0 && op < 0xc0 && op != 0xae);
	return op < 0x0d || op == 0x0e || op == 0x0f || (op >= 0x20 && op < 0x28) || op == 0x30 ||
	       (op >= 0x32 && op < 0x40) || (op >= 0x78 && op < 0x7c) || op == 0xa6 || op == 0xa7 ||
	       op == 0xaa || op == 0xb2 || op == 0xb4 || op == 0xb5 ||
	       (op == 0xb8 && d->prefix != PREFIX_F3) || op == 0xb9 || op == 0xff;
}

void decoder_map1(struct decoder *d)
{
	uint8_t op = d->opcode;
	bool legacy = !d->vex && !d->evex;

	if (op == 0x01 && legacy) {
		decoder_take_modrm(d);
		/* xgetbv and rdtscp; the rest of the group is privileged */
		if (d->mod != 3 || !((d->reg == 2 && d->rm == 0) || (d->reg == 7 && d->rm == 1)))
			d->bad = true;
		decoder_other(d, RAX | RCX | RDX);
		return;
	}
	if (op == 0x0b && legacy) {
		decoder_finish(d, INSTRUCTION_STOP, 0, 0, 0);
		return;
	}
	if (op == 0x05 && legacy) {
		decoder_other(d, RAX | RCX | REG(11));
		d->out.kind = INSTRUCTION_SYSCALL;
		return;
	}
	if (map1_is_bad(d)) {
		d->bad = true;
		return;
	}
	if (op == 0x77) { /* emms, vzeroupper */
		decoder_other(d, 0);
		return;
	}
	if (legacy && op >= 0x80 && op < 0x90) {
		decoder_branch(d, INSTRUCTION_JUMP_IF, 4);
		return;
	}
	if (legacy && op >= 0xc8 && op < 0xd0) {
		decoder_other(d, REG((op & 7) | d->b << 3)); /* bswap */
		return;
	}
	if (legacy && (op == 0x31 || op == 0xa2)) { /* rdtsc, cpuid */
		decoder_other(d, RAX | RCX | RDX | RBX);
		return;
	}
	if (legacy && (op == 0xa0 || op == 0xa1 || op == 0xa8 || op == 0xa9)) {
		d->bad = true; /* push and pop of fs and gs */
		return;
	}
	decoder_take_modrm(d);
	if (map1_has_byte(op))
		decoder_take(d);
	decoder_other(d, decoder_map1_writes(d));
	if (legacy && op == 0x1f)
		d->out.kind = INSTRUCTION_NOP;
}

void decoder_map2(struct decoder *d)
{
	uint8_t op = d->opcode;

	decoder_take_modrm(d);
	if (d->evex)
		decoder_other(d, 0);
	else if (!d->vex && op >= 0xf0) /* movbe, crc32, adcx */
		decoder_other(d, REG(d->reg));
	else if (d->vex && op >= 0xe0) /* cmpccxadd, BMI */
		decoder_other(d, REG(d->reg) | REG(d->vvvv));
	else
		decoder_other(d, 0);
}

void decoder_map3(struct decoder *d)
{
	uint8_t op = d->opcode;

	decoder_take_modrm(d);
	decoder_take(d);
	if (op >= 0x14 && op <= 0x17) /* pextr, extractps */
		decoder_other(d, decoder_rm_written(d, false));
	else if (op >= 0x60 && op <= 0x63) /* pcmpestri */
		decoder_other(d, RCX);
	else
		decoder_other(d, op == 0xf0 ? REG(d->reg) : 0);
}
