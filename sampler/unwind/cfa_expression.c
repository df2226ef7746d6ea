/*
 * The shapes that occur: the PLT of the linkers, a register plus an offset, and one or two loads
 * from there (realigned frames of gcc, hand-written assembly of OpenSSL).
 */
#include "sampler/unwind/cfa_expression.h"

#include <string.h>

#include "core/portable/walk.h"

enum {
	OP_DEREF = 0x06,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

static const struct cfa_expression unsupported = { .cfa = WALK_CFA_UNSUPPORTED };

/* Takes the next byte if it is this one. */
static bool next_is(struct cursor *bytes, uint8_t opcode)
{
	if (!cursor_left(bytes) || *bytes->at != opcode)
		return false;
	bytes->at++;
	return true;
}

static bool next_breg(struct cursor *bytes, uint8_t *ret_reg, int64_t *ret_offset)
{
	uint8_t reg = cursor_u8(bytes) - OP_BREG0;

	if (reg >= WALK_NR_REGS)
		return false;
	*ret_reg = reg;
	*ret_offset = cursor_sleb(bytes);
	return !bytes->bad;
}

/*
 * The linkers' PLT, 11 bytes with one number N: CFA = rsp + 8 + ((rip & 15) >= N) << 3. N is where
 * the push of a slot ends: 11, or 10 in the PLT of an IBT build (binutils bfd/elfxx-x86.c).
 */
static bool parse_plt(const struct cursor *bytes, struct cfa_expression *ret)
{
	static const uint8_t plt[11] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
					 0x00, 0x2a, 0x33, 0x24, 0x22 };
	uint8_t limit;

	if (cursor_left(bytes) != sizeof(plt) || memcmp(bytes->at, plt, 6) ||
	    memcmp(bytes->at + 7, plt + 7, 4))
		return false;
	limit = bytes->at[6] - OP_LIT0;
	if (limit > 15)
		return false;
	*ret = (struct cfa_expression){ .cfa = WALK_CFA_PLT, .off = limit };
	return true;
}

/*
 * "breg I 0; lit8; mul; plus; deref": the index into the frame that OpenSSL's multiplications use.
 */
static bool next_index(struct cursor *bytes, uint8_t *ret_reg)
{
	int64_t offset;

	return next_breg(bytes, ret_reg, &offset) && !offset && next_is(bytes, OP_LIT0 + 8) &&
	       next_is(bytes, OP_MUL) && next_is(bytes, OP_PLUS) && next_is(bytes, OP_DEREF);
}

static bool fits16(int64_t value)
{
	return value == (int16_t)value;
}

static uint32_t high16(int64_t value)
{
	return (uint32_t)(uint16_t)value << 16;
}

/* breg N, then: nothing, deref, or an index and deref; then perhaps plus_uconst M. */
struct cfa_expression cfa_expression_parse(struct cursor expression)
{
	struct cfa_expression result;
	struct cursor *bytes = &expression;
	uint8_t reg, index = 0;
	int64_t inner, outer = 0;
	bool deref, indexed = false;

	if (parse_plt(bytes, &result))
		return result;
	if (!next_breg(bytes, &reg, &inner))
		return unsupported;
	deref = next_is(bytes, OP_DEREF);
	if (!deref && cursor_left(bytes) && *bytes->at != OP_PLUS_UCONST) {
		indexed = next_index(bytes, &index);
		if (!indexed)
			return unsupported;
	}
	if (next_is(bytes, OP_PLUS_UCONST))
		outer = (int64_t)cursor_uleb(bytes);
	if (bytes->bad || cursor_left(bytes) || !fits16(inner) || !fits16(outer))
		return unsupported;
	if (!deref && !indexed)
		return (struct cfa_expression){ .cfa = WALK_CFA_REG,
						.reg = reg,
						.off = inner + outer };
	if (indexed)
		return reg != WALK_REG_SP || outer < 0 || outer > 255
			       ? unsupported
			       : (struct cfa_expression){
					 .cfa = WALK_CFA_SP_INDEX_DEREF,
					 .off = (int32_t)(high16(inner) | (uint32_t)outer << 8 |
							  index),
				 };
	result.cfa = reg == WALK_REG_SP	  ? WALK_CFA_SP_DEREF
		     : reg == WALK_REG_FP ? WALK_CFA_FP_DEREF
					  : WALK_CFA_UNSUPPORTED;
	result.reg = 0;
	result.off = (int32_t)(high16(outer) | (uint16_t)inner);
	return result;
}
