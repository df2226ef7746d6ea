/*
 * What all opcode maps use: reading the next bytes and ModRM, and setting the result. Past the end
 * of the bytes everything reads as zero and `bad` is set.
 */
#include "sampler/unwind/x86_64/instruction_decoder.h"

#include <string.h>

uint8_t decoder_take(struct decoder *d)
{
	if (d->at >= d->size) {
		d->bad = true;
		return 0;
	}
	return d->bytes[d->at++];
}

int64_t decoder_take_signed(struct decoder *d, unsigned int size)
{
	int64_t value = 0;

	if (size > d->size - d->at) {
		d->bad = true;
		return 0;
	}
	memcpy(&value, d->bytes + d->at, size);
	d->at += size;
	return size == 1   ? (int8_t)value
	       : size == 2 ? (int16_t)value
	       : size == 4 ? (int32_t)value
			   : value;
}

void decoder_take_modrm(struct decoder *d)
{
	uint8_t modrm = decoder_take(d), low = modrm & 7;

	d->mod = modrm >> 6;
	d->reg = (uint8_t)((modrm >> 3 & 7) | d->r << 3);
	d->rm = (uint8_t)(low | d->b << 3);
	d->base = INSTRUCTION_NO_REG;
	if (d->mod == 3)
		return;
	if (low == 4) {
		uint8_t sib = decoder_take(d), index = (uint8_t)((sib >> 3 & 7) | d->x << 3);

		low = sib & 7;
		if (index == 4 && !(low == 5 && d->mod == 0))
			d->base = (uint8_t)(low | d->b << 3);
		if (low == 5 && d->mod == 0)
			d->displacement = (int32_t)decoder_take_signed(d, 4);
	} else if (low == 5 && d->mod == 0) {
		d->displacement = (int32_t)decoder_take_signed(d, 4);
		d->of_pc = !d->address_67;
	} else {
		d->base = d->rm;
	}
	if (d->mod)
		d->displacement = (int32_t)decoder_take_signed(d, d->mod == 1 ? 1 : 4);
	if (d->address_67)
		d->base = INSTRUCTION_NO_REG;
}

void decoder_finish(struct decoder *d, enum instruction_kind kind, uint8_t reg, uint8_t base,
		    int32_t value)
{
	d->out.kind = (uint8_t)kind;
	d->out.reg = reg;
	d->out.base = base;
	d->out.value = value;
}

void decoder_other(struct decoder *d, uint32_t writes)
{
	d->out.kind = INSTRUCTION_OTHER;
	d->out.writes |= (uint16_t)writes;
}

uint32_t decoder_byte_reg(const struct decoder *d, uint8_t reg)
{
	return REG(!d->rex && reg >= 4 ? reg - 4 : reg);
}

uint32_t decoder_rm_written(const struct decoder *d, bool byte)
{
	if (d->mod != 3)
		return 0;
	return byte ? decoder_byte_reg(d, d->rm) : REG(d->rm);
}

void decoder_branch(struct decoder *d, enum instruction_kind kind, unsigned int size)
{
	if (d->size_66 && size == 4) /* AMD reads 2 bytes here, Intel 4 */
		d->bad = true;
	decoder_finish(d, kind, 0, 0, (int32_t)decoder_take_signed(d, size));
}
