/*
 * Only three things are followed: the CFA, rbp and the return address. Rules for other registers
 * are parsed and dropped, because no walk restores those registers.
 */
#include "sampler/unwind/cfi.h"

#include "sampler/unwind/cfa_expression.h"

/* DWARF 5 table 7.29; the top two bits of a byte are the opcode where they are not 0. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { OP_BREG6 = 0x76 };  /* DWARF 5 section 7.7.1 */
enum { CFI_FP_OTHER = 4 }; /* rbp is where no enum walk_fp can say */

enum cfi_ra {
	RA_USUAL = 0,	  /* at CFA - 8 */
	RA_UNDEFINED = 1, /* the outermost frame */
	RA_REGISTER = 2,  /* in ra_reg: hand-written code popped it */
	RA_OTHER = 3,
};

static bool fits(int64_t value, unsigned int bits)
{
	int64_t limit = 1ll << (bits - 1);

	return value >= -limit && value < limit;
}

/* CFA = register + offset. The register decides the enum walk_cfa. */
static void set_cfa(struct cfi_state *state, uint64_t reg, int64_t offset)
{
	state->cfa = reg == WALK_REG_SP	  ? WALK_CFA_SP
		     : reg == WALK_REG_FP ? WALK_CFA_FP
		     : reg < WALK_NR_REGS ? WALK_CFA_REG
					  : WALK_CFA_UNSUPPORTED;
	state->cfa_reg = (uint8_t)reg;
	state->cfa_off = offset;
}

static void set_cfa_expression(struct cfi_state *state, struct cursor expression)
{
	struct cfa_expression parsed = cfa_expression_parse(expression);

	if (parsed.cfa == WALK_CFA_REG) {
		set_cfa(state, parsed.reg, parsed.off);
	} else {
		state->cfa = parsed.cfa;
		state->cfa_off = parsed.off;
	}
}

/* The caller's register is saved at CFA + offset. */
static void set_saved(struct cfi_state *state, uint64_t reg, int64_t offset)
{
	if (reg == WALK_REG_FP) {
		state->fp = fits(offset, 16) ? WALK_FP_CFA : CFI_FP_OTHER;
		state->fp_off = (int32_t)offset;
	} else if (reg == WALK_REG_RA) {
		state->ra = offset == -8 ? RA_USUAL : RA_OTHER;
	}
}

/* The caller's register is found in another way, which fp or ra says. */
static void set_rule(struct cfi_state *state, uint64_t reg, uint8_t fp, uint8_t ra)
{
	if (reg == WALK_REG_FP) {
		state->fp = fp;
		state->fp_off = 0;
	} else if (reg == WALK_REG_RA) {
		state->ra = ra;
	}
}

/* The caller's register is in another register. */
static void set_in_register(struct cfi_state *state, uint64_t reg, uint64_t other)
{
	set_rule(state, reg, CFI_FP_OTHER, other < WALK_NR_REGS ? RA_REGISTER : RA_OTHER);
	if (reg == WALK_REG_RA)
		state->ra_reg = (uint8_t)other;
}

/*
 * The register is saved where an expression says; for rbp that is "breg6 N" in a realigned frame.
 */
static void set_saved_expression(struct cfi_state *state, uint64_t reg, struct cursor expression)
{
	int64_t offset;

	if (reg == WALK_REG_FP && cursor_u8(&expression) == OP_BREG6) {
		offset = cursor_sleb(&expression);
		if (!expression.bad && !cursor_left(&expression) && fits(offset, 16)) {
			state->fp = WALK_FP_FP;
			state->fp_off = (int32_t)offset;
			return;
		}
	}
	set_rule(state, reg, CFI_FP_OTHER, RA_OTHER);
}

static void restore(struct cfi_program *program, uint64_t reg)
{
	const struct cfi_state *initial = program->initial;

	if (reg == WALK_REG_FP) {
		program->state.fp = initial->fp;
		program->state.fp_off = initial->fp_off;
	} else if (reg == WALK_REG_RA) {
		program->state.ra = initial->ra;
		program->state.ra_reg = initial->ra_reg;
	}
}

/* An offset in units of the CIE's data alignment; wraps around on invalid input. */
static int64_t factored(const struct cfi_program *program, int64_t offset)
{
	return (int64_t)((uint64_t)offset * (uint64_t)program->cie->data_align);
}

static struct cursor read_block(struct cursor *bytes)
{
	uint64_t size = cursor_uleb(bytes);
	const uint8_t *at = cursor_take(bytes, size);

	return (struct cursor){ at ? at : bytes->end, bytes->at, false };
}

/* Executes an instruction about a saved register. false: it is not one. */
static bool execute_register(struct cfi_program *program, uint8_t opcode)
{
	struct cursor *bytes = &program->bytes;
	struct cfi_state *state = &program->state;
	uint64_t reg;

	switch (opcode) {
	case CFA_OFFSET_EXTENDED:
		reg = cursor_uleb(bytes);
		set_saved(state, reg, factored(program, (int64_t)cursor_uleb(bytes)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		reg = cursor_uleb(bytes);
		set_saved(state, reg, factored(program, cursor_sleb(bytes)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = cursor_uleb(bytes);
		set_saved(state, reg, factored(program, (int64_t)(0 - cursor_uleb(bytes))));
		return true;
	case CFA_RESTORE_EXTENDED: restore(program, cursor_uleb(bytes)); return true;
	case CFA_UNDEFINED:
		set_rule(state, cursor_uleb(bytes), WALK_FP_UNDEF, RA_UNDEFINED);
		return true;
	case CFA_SAME_VALUE:
		set_rule(state, cursor_uleb(bytes), WALK_FP_SAME, RA_OTHER);
		return true;
	case CFA_REGISTER:
		reg = cursor_uleb(bytes);
		set_in_register(state, reg, cursor_uleb(bytes));
		return true;
	case CFA_VAL_OFFSET:
		set_rule(state, cursor_uleb(bytes), CFI_FP_OTHER, RA_OTHER);
		cursor_uleb(bytes);
		return true;
	case CFA_VAL_OFFSET_SF:
		set_rule(state, cursor_uleb(bytes), CFI_FP_OTHER, RA_OTHER);
		cursor_sleb(bytes);
		return true;
	case CFA_EXPRESSION:
		reg = cursor_uleb(bytes);
		set_saved_expression(state, reg, read_block(bytes));
		return true;
	case CFA_VAL_EXPRESSION:
		set_rule(state, cursor_uleb(bytes), CFI_FP_OTHER, RA_OTHER);
		read_block(bytes);
		return true;
	default: return false;
	}
}

/* Executes an instruction about the CFA, or any other one. false: it is unknown. */
static bool execute_cfa(struct cfi_program *program, uint8_t opcode)
{
	struct cursor *bytes = &program->bytes;
	struct cfi_state *state = &program->state;
	bool by_register = state->cfa == WALK_CFA_SP || state->cfa == WALK_CFA_FP ||
			   state->cfa == WALK_CFA_REG;
	uint64_t reg;

	switch (opcode) {
	case CFA_NOP: return true;
	case CFA_DEF_CFA:
		reg = cursor_uleb(bytes);
		set_cfa(state, reg, (int64_t)cursor_uleb(bytes));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(bytes);
		set_cfa(state, reg, factored(program, cursor_sleb(bytes)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(state, cursor_uleb(bytes), state->cfa_off);
		return by_register;
	case CFA_DEF_CFA_OFFSET: state->cfa_off = (int64_t)cursor_uleb(bytes); return by_register;
	case CFA_DEF_CFA_OFFSET_SF:
		state->cfa_off = factored(program, cursor_sleb(bytes));
		return by_register;
	case CFA_DEF_CFA_EXPRESSION: set_cfa_expression(state, read_block(bytes)); return true;
	case CFA_REMEMBER_STATE:
		if (program->nr_remembered == CFI_MAX_REMEMBERED)
			return false;
		program->remembered[program->nr_remembered++] = *state;
		return true;
	case CFA_RESTORE_STATE:
		if (!program->nr_remembered)
			return false;
		*state = program->remembered[--program->nr_remembered];
		return true;
	case CFA_GNU_ARGS_SIZE: cursor_uleb(bytes); return true;
	default: return false;
	}
}

/* Executes up to the next change of location. Returns the new location, or `end` at the end. */
static uint64_t run(struct cfi_program *program)
{
	struct cursor *bytes = &program->bytes;

	while (cursor_left(bytes)) {
		uint8_t byte = cursor_u8(bytes), low = byte & 0x3f;
		uint64_t location = program->location, step = 0;

		switch (byte & 0xc0) {
		case CFA_ADVANCE_LOC: step = low; break;
		case CFA_OFFSET:
			set_saved(&program->state, low,
				  factored(program, (int64_t)cursor_uleb(bytes)));
			break;
		case CFA_RESTORE: restore(program, low); break;
		default:
			if (byte == CFA_ADVANCE_LOC1)
				step = cursor_u8(bytes);
			else if (byte == CFA_ADVANCE_LOC2)
				step = cursor_fixed(bytes, 2);
			else if (byte == CFA_ADVANCE_LOC4)
				step = cursor_fixed(bytes, 4);
			else if (byte == CFA_SET_LOC)
				location = eh_read_pointer(program->frame, bytes,
							   program->cie->pointer_encoding);
			else if (!execute_register(program, byte) && !execute_cfa(program, byte))
				bytes->bad = true;
		}
		if (bytes->bad)
			break;
		location += step * program->cie->code_align;
		if (location != program->location)
			return location;
	}
	return program->end;
}

/* Packs a register and an offset of 24 bits into cfa_off, as rules for leaves have them. */
static bool pack_register(struct walk_rule *rule, uint8_t cfa, uint8_t reg, int64_t offset)
{
	rule->cfa = cfa;
	rule->cfa_off = (int32_t)((uint32_t)offset << 8 | reg);
	return fits(offset, 24);
}

static struct walk_rule to_rule(const struct cfi_program *program)
{
	static const struct walk_rule unsupported = { .cfa = WALK_CFA_UNSUPPORTED };
	const struct cfi_state *state = &program->state;
	struct walk_rule rule = { .cfa = state->cfa, .fp = state->fp };

	if (program->cie->signal)
		return (struct walk_rule){ .cfa = WALK_CFA_SIGNAL };
	if (state->ra == RA_UNDEFINED)
		return (struct walk_rule){ .cfa = WALK_CFA_END };
	if (state->ra == RA_OTHER || state->fp == CFI_FP_OTHER || !fits(state->cfa_off, 32) ||
	    state->cfa == WALK_CFA_UNSUPPORTED || program->cie->return_register != WALK_REG_RA)
		return unsupported;
	rule.fp_off = (int16_t)state->fp_off;
	rule.cfa_off = (int32_t)state->cfa_off;
	if (state->ra == RA_REGISTER) {
		if (state->cfa != WALK_CFA_SP ||
		    !pack_register(&rule, WALK_CFA_RA_REG, state->ra_reg, state->cfa_off))
			return unsupported;
	} else if (state->cfa == WALK_CFA_REG) {
		if (!pack_register(&rule, WALK_CFA_REG, state->cfa_reg, state->cfa_off))
			return unsupported;
	}
	return rule;
}

void cfi_init_cie(const struct eh_frame *frame, const struct eh_cie *cie,
		  struct cfi_state *ret_state)
{
	struct cfi_state initial = { .cfa = WALK_CFA_UNSUPPORTED, .ra = RA_OTHER };
	struct eh_fde nowhere = { .program = cie->program, .program_size = cie->program_size };
	struct cfi_program program;

	cfi_begin(&program, frame, cie, &initial, &nowhere);
	run(&program);
	if (program.bytes.bad)
		program.state.cfa = WALK_CFA_UNSUPPORTED;
	*ret_state = program.state;
}

void cfi_begin(struct cfi_program *program, const struct eh_frame *frame, const struct eh_cie *cie,
	       const struct cfi_state *initial, const struct eh_fde *fde)
{
	program->frame = frame;
	program->cie = cie;
	program->initial = initial;
	program->bytes = (struct cursor){ fde->program, fde->program + fde->program_size, false };
	program->location = fde->start;
	program->end = fde->start + fde->length;
	program->state = *initial;
	program->nr_remembered = 0;
	program->broken = false;
}

bool cfi_next(struct cfi_program *program, struct cfi_row *ret_row)
{
	uint64_t next;

	if (program->location >= program->end)
		return false;
	next = run(program);
	ret_row->vaddr = program->location;
	program->broken = program->bytes.bad || next < program->location;
	if (program->broken) {
		ret_row->rule = (struct walk_rule){ .cfa = WALK_CFA_NONE };
		program->location = program->end;
	} else {
		ret_row->rule = to_rule(program);
		program->location = next;
	}
	return true;
}
