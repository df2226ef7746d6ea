/*
 * Values are symbolic: "CFA + offset", "aligned rsp + offset", "the caller's rbp". A word of the
 * stack is known while nothing may have overwritten it; at most FRAME_MAX_SLOTS words are.
 */
#include "sampler/unwind/x86_64/abstract_frame.h"

#include <string.h>

#define RSP INSTRUCTION_RSP
#define RBP INSTRUCTION_RBP
#define CALL_CLOBBERS 0x0fc7u /* rax rcx rdx rsi rdi r8 to r11 */
#define MAX_DISTANCE (1 << 20)
#define RETURN_ADDRESS (-8) /* from the CFA */

static const struct frame_value unknown;

void abstract_frame_init(struct abstract_frame *state)
{
	*state = (struct abstract_frame){ 0 };
	state->regs[RSP] = (struct frame_value){ RETURN_ADDRESS, FRAME_CFA };
	state->regs[RBP] = (struct frame_value){ 0, FRAME_CALLERS_RBP };
}

static bool equal(struct frame_value a, struct frame_value b)
{
	return a.base == b.base && a.offset == b.offset;
}

static bool is_address(struct frame_value value)
{
	return value.base == FRAME_CFA || value.base == FRAME_ALIGNED;
}

/* value + distance, where value is an address and the result stays in reach. */
static struct frame_value moved(struct frame_value value, int64_t distance)
{
	int64_t offset = value.offset + distance;

	if (!is_address(value) || offset < -MAX_DISTANCE || offset > MAX_DISTANCE)
		return unknown;
	return (struct frame_value){ (int32_t)offset, value.base };
}

static struct frame_value load(const struct abstract_frame *state, struct frame_value address)
{
	for (uint32_t i = 0; i < state->nr_slots && is_address(address); i++) {
		if (equal(state->slots[i].address, address))
			return state->slots[i].value;
	}
	return unknown;
}

/* Stores 8 bytes; false where that overwrites the return address. */
static bool store(struct abstract_frame *state, struct frame_value address,
		  struct frame_value value)
{
	if (!is_address(address)) /* not in the frame, or the function could not return */
		return true;
	if (address.base == FRAME_CFA && address.offset > RETURN_ADDRESS - 8 && address.offset < 0)
		return false;
	for (uint32_t i = 0; i < state->nr_slots;) {
		const struct frame_value *slot = &state->slots[i].address;
		int32_t distance = slot->offset - address.offset;

		if (slot->base == address.base && distance > -8 && distance < 8)
			state->slots[i] = state->slots[--state->nr_slots];
		else
			i++;
	}
	if (value.base != FRAME_UNKNOWN && state->nr_slots < FRAME_MAX_SLOTS)
		state->slots[state->nr_slots++] = (struct frame_slot){ address, value };
	return true;
}

static bool push(struct abstract_frame *state, struct frame_value value)
{
	state->regs[RSP] = moved(state->regs[RSP], -8);
	return store(state, state->regs[RSP], value);
}

static void pop(struct abstract_frame *state, uint8_t reg)
{
	struct frame_value value = load(state, state->regs[RSP]);

	state->regs[RSP] = moved(state->regs[RSP], 8);
	state->regs[reg] = value;
}

/* Rounds rsp down. What was known relative to an earlier rounding is forgotten. */
static void align(struct abstract_frame *state, int32_t mask)
{
	for (int i = 0; i < WALK_NR_REGS; i++) {
		if (state->regs[i].base == FRAME_ALIGNED)
			state->regs[i] = unknown;
	}
	for (uint32_t i = 0; i < state->nr_slots;) {
		if (state->slots[i].address.base == FRAME_ALIGNED ||
		    state->slots[i].value.base == FRAME_ALIGNED)
			state->slots[i] = state->slots[--state->nr_slots];
		else
			i++;
	}
	state->regs[RSP] = unknown;
	if (mask < 0 && mask >= -4096 && !(-mask & (-mask - 1)) && mask <= -8)
		state->regs[RSP] = (struct frame_value){ 0, FRAME_ALIGNED };
}

static void forget(struct abstract_frame *state, uint32_t regs)
{
	for (int i = 0; i < WALK_NR_REGS; i++) {
		if (regs >> i & 1)
			state->regs[i] = unknown;
	}
}

/* A call overwrites scratch registers and what lies below rsp. */
static void call(struct abstract_frame *state)
{
	struct frame_value sp = state->regs[RSP];

	forget(state, CALL_CLOBBERS);
	for (uint32_t i = 0; i < state->nr_slots;) {
		const struct frame_value *slot = &state->slots[i].address;

		if (slot->base == sp.base && slot->offset < sp.offset)
			state->slots[i] = state->slots[--state->nr_slots];
		else
			i++;
	}
}

bool abstract_frame_step(struct abstract_frame *state, const struct instruction *in)
{
	struct frame_value *regs = state->regs, value;

	switch (in->kind) {
	case INSTRUCTION_PUSH:
		if (!push(state, regs[in->reg]))
			return false;
		break;
	case INSTRUCTION_PUSH_ANY:
		if (!push(state, unknown))
			return false;
		break;
	case INSTRUCTION_POP: pop(state, in->reg); break;
	case INSTRUCTION_POP_FLAGS: regs[RSP] = moved(regs[RSP], 8); break;
	case INSTRUCTION_ADD: regs[in->reg] = moved(regs[in->reg], in->value); break;
	case INSTRUCTION_AND:
		if (in->reg == RSP)
			align(state, in->value);
		else
			regs[in->reg] = unknown;
		break;
	case INSTRUCTION_MOVE: regs[in->reg] = regs[in->base]; break;
	case INSTRUCTION_LEA: regs[in->reg] = moved(regs[in->base], in->value); break;
	case INSTRUCTION_LOAD:
		value = load(state, moved(regs[in->base], in->value));
		regs[in->reg] = value;
		break;
	case INSTRUCTION_STORE:
		if (!store(state, moved(regs[in->base], in->value), regs[in->reg]))
			return false;
		break;
	case INSTRUCTION_LEAVE:
		regs[RSP] = regs[RBP];
		pop(state, RBP);
		break;
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_INDIRECT: call(state); break;
	default: forget(state, in->writes);
	}
	/* rsp above the return address: in the caller's frame */
	return regs[RSP].base != FRAME_CFA || regs[RSP].offset <= RETURN_ADDRESS;
}

bool abstract_frame_meet(struct abstract_frame *state, const struct abstract_frame *other)
{
	bool changed = false;

	for (int i = 0; i < WALK_NR_REGS; i++) {
		if (state->regs[i].base != FRAME_UNKNOWN &&
		    !equal(state->regs[i], other->regs[i])) {
			state->regs[i] = unknown;
			changed = true;
		}
	}
	for (uint32_t i = 0; i < state->nr_slots;) {
		if (equal(load(other, state->slots[i].address), state->slots[i].value)) {
			i++;
		} else {
			state->slots[i] = state->slots[--state->nr_slots];
			changed = true;
		}
	}
	return changed;
}

bool abstract_frame_is_bare(const struct abstract_frame *state)
{
	static const struct frame_value sp = { RETURN_ADDRESS, FRAME_CFA };
	static const struct frame_value fp = { 0, FRAME_CALLERS_RBP };

	return equal(state->regs[RSP], sp) && equal(state->regs[RBP], fp);
}

static bool fits_16(int64_t value)
{
	return value == (int16_t)value;
}

/* The CFA is saved in a word of the frame, which rsp or rbp leads to. */
static bool rule_of_word(const struct abstract_frame *state, uint8_t reg, enum walk_cfa cfa,
			 struct walk_rule *rule)
{
	struct frame_value base = state->regs[reg];

	for (uint32_t i = 0; i < state->nr_slots && is_address(base); i++) {
		const struct frame_slot *slot = &state->slots[i];
		int32_t distance = slot->address.offset - base.offset;

		if (slot->address.base != base.base || slot->value.base != FRAME_CFA ||
		    !fits_16(distance) || !fits_16(-slot->value.offset))
			continue;
		rule->cfa = (uint8_t)cfa;
		rule->cfa_off = (int32_t)((uint32_t)-slot->value.offset << 16 |
					  ((uint32_t)distance & 0xffff));
		return true;
	}
	return false;
}

/* The CFA is in another register: for leaves only (core/portable/walk_step.h). */
static bool rule_of_register(const struct abstract_frame *state, struct walk_rule *rule)
{
	static const uint8_t dwarf[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	for (int i = 0; i < WALK_NR_REGS; i++) {
		if (state->regs[i].base != FRAME_CFA)
			continue;
		rule->cfa = WALK_CFA_REG;
		rule->cfa_off = (int32_t)((uint32_t)-state->regs[i].offset << 8 |
					  (i < 8 ? dwarf[i] : (uint32_t)i));
		return true;
	}
	return false;
}

static bool rule_of_address(const struct abstract_frame *state, uint8_t reg, enum walk_cfa cfa,
			    struct walk_rule *rule)
{
	if (state->regs[reg].base != FRAME_CFA)
		return false;
	rule->cfa = (uint8_t)cfa;
	rule->cfa_off = -state->regs[reg].offset;
	return true;
}

/*
 * rbp comes first: a function that returns through rbp works whatever its calls do to rsp
 * (functions of V8 pop their own arguments), so its ret proves nothing about rsp.
 */
static bool cfa_rule(const struct abstract_frame *state, struct walk_rule *rule)
{
	return rule_of_address(state, RBP, WALK_CFA_FP, rule) ||
	       rule_of_word(state, RBP, WALK_CFA_FP_DEREF, rule) ||
	       rule_of_address(state, RSP, WALK_CFA_SP, rule) ||
	       rule_of_word(state, RSP, WALK_CFA_SP_DEREF, rule) || rule_of_register(state, rule);
}

bool abstract_frame_rule(const struct abstract_frame *state, struct walk_rule *ret)
{
	struct frame_value fp = state->regs[RBP];
	struct walk_rule rule = { .fp = WALK_FP_UNDEF };

	if (!cfa_rule(state, &rule))
		return false;
	if (fp.base == FRAME_CALLERS_RBP)
		rule.fp = WALK_FP_SAME;
	/* if two words have it, the higher one was saved first, and is less likely written again */
	for (uint32_t i = 0; i < state->nr_slots && rule.fp != WALK_FP_SAME; i++) {
		const struct frame_slot *slot = &state->slots[i];
		int32_t distance = slot->address.offset - fp.offset;

		if (slot->value.base != FRAME_CALLERS_RBP)
			continue;
		if (slot->address.base == FRAME_CFA && fits_16(slot->address.offset)) {
			if (rule.fp == WALK_FP_CFA && rule.fp_off > slot->address.offset)
				continue;
			rule.fp = WALK_FP_CFA;
			rule.fp_off = (int16_t)slot->address.offset;
		} else if (rule.fp == WALK_FP_UNDEF && slot->address.base == fp.base &&
			   fits_16(distance)) {
			rule.fp = WALK_FP_FP;
			rule.fp_off = (int16_t)distance;
		}
	}
	*ret = rule;
	return true;
}
