/*
 * Two arrays of one byte per byte of text: marks, and the lengths of instructions without effect,
 * which are most of a numeric kernel and need no second decoding.
 */
#include "sampler/unwind/code/text_marks.h"

#include <stdlib.h>

#include "core/base/alloc.h"

#define MAX_FUNCTION (1u << 20) /* bytes from a function's start to its last instruction */

void text_marks_init(struct text_marks *m, const struct derived_text *text)
{
	*m = (struct text_marks){ .text = *text };
	m->bytes = xcalloc(text->size + 1, 1);
	m->plain = xcalloc(text->size + 1, 1);
	m->returns = xcalloc(text->size / 8 + 1, 1);
	m->no_return = xcalloc(text->size / 8 + 1, 1);
}

void text_marks_fini(struct text_marks *m)
{
	free(m->bytes);
	free(m->plain);
	free(m->returns);
	free(m->no_return);
}

struct instruction text_marks_decode(const struct text_marks *m, uint32_t at)
{
	if (m->plain[at])
		return (struct instruction){ .kind = INSTRUCTION_NOP, .length = m->plain[at] };
	return instruction_decode(m->text.bytes + at, m->text.size - at);
}

bool instruction_is_branch(const struct instruction *in)
{
	return in->kind == INSTRUCTION_JUMP || in->kind == INSTRUCTION_JUMP_IF;
}

bool instruction_ends_block(const struct instruction *in)
{
	return in->kind == INSTRUCTION_RET || in->kind == INSTRUCTION_STOP ||
	       in->kind == INSTRUCTION_JUMP;
}

int64_t instruction_target(const struct instruction *in, uint32_t at)
{
	return (int64_t)at + in->length + in->value;
}

bool text_marks_in_reach(const struct text_marks *m, int64_t target)
{
	return target >= 0 && target < (int64_t)m->text.size && target - m->entry < MAX_FUNCTION &&
	       m->entry - target < MAX_FUNCTION;
}

bool text_marks_is_excluded(const struct text_marks *m, int64_t at)
{
	return at >= 0 && at < (int64_t)m->text.size &&
	       (m->bytes[at] & (BYTE_EXCLUDED | BYTE_OWN | BYTE_BEGIN)) == BYTE_EXCLUDED;
}

/* Is it an address that only the text's owner knows about? */
static bool is_owners(const struct text_marks *m, int64_t at)
{
	return at < 0 || at >= (int64_t)m->text.size || text_marks_is_excluded(m, at);
}

bool text_marks_is_own(const struct text_marks *m, int64_t at)
{
	const uint8_t own = BYTE_BEGIN | BYTE_OWN;

	return at >= 0 && at < (int64_t)m->text.size && (m->bytes[at] & own) == own;
}

bool instruction_is_call(const struct instruction *in)
{
	return in->kind == INSTRUCTION_CALL || in->kind == INSTRUCTION_CALL_INDIRECT;
}

bool text_marks_reach_other(const struct text_marks *m, int64_t target)
{
	if (m->guessed)
		return false;
	if (!is_owners(m, target))
		return m->bytes[target] & (BYTE_BARE | BYTE_ENTRY);
	return m->text.is_function &&
	       m->text.is_function(m->text.context, m->text.vaddr + (uint64_t)target);
}

bool text_marks_take(struct text_marks *m, uint32_t at, const struct instruction *in)
{
	uint32_t length = in->length;

	for (uint32_t i = 1; i < length; i++) {
		if (m->bytes[at + i] &
		    ~BYTE_HINT) /* another instruction, or a byte that must begin one */
			return false;
	}
	m->bytes[at] |= BYTE_BEGIN | BYTE_OWN;
	for (uint32_t i = 1; i < length; i++)
		m->bytes[at + i] |= BYTE_INSIDE | BYTE_OWN;
	if (at < m->start)
		m->start = at;
	if (at + length > m->end)
		m->end = at + length;
	if (in->kind == INSTRUCTION_NOP || (in->kind == INSTRUCTION_OTHER && !in->writes))
		m->plain[at] = in->length;
	return true;
}

void text_marks_disown(struct text_marks *m, bool good, bool keep)
{
	uint8_t kept = BYTE_ENTRY | BYTE_HINT;
	const uint8_t add = good ? BYTE_GOOD : 0;

	if (good)
		kept |= BYTE_TAKEN | BYTE_BARE;
	else if (keep)
		kept |= BYTE_TAKEN;
	for (uint32_t i = m->start; i < m->end; i++) {
		if (m->bytes[i] & BYTE_OWN)
			m->bytes[i] = (m->bytes[i] & kept) | add;
	}
}

void text_marks_set_returns(struct text_marks *m, bool returns)
{
	(returns ? m->returns : m->no_return)[m->entry / 8] |= (uint8_t)(1u << m->entry % 8);
}

static bool has_bit(const uint8_t *bits, int64_t at)
{
	return at >= 0 && (bits[at / 8] >> at % 8 & 1);
}

static enum code_fate fate(const struct text_marks *m, uint32_t at, const struct instruction *in)
{
	int64_t target = instruction_target(in, at);

	if (in->kind != INSTRUCTION_CALL)
		return FATE_UNKNOWN;
	if (is_owners(m, target))
		return m->text.fate
			       ? m->text.fate(m->text.context, m->text.vaddr + (uint64_t)target)
			       : FATE_UNKNOWN;
	return has_bit(m->returns, target)     ? FATE_RETURNS
	       : has_bit(m->no_return, target) ? FATE_NEVER
					       : FATE_UNKNOWN;
}

bool text_marks_call_returns(const struct text_marks *m, uint32_t at, const struct instruction *in)
{
	return fate(m, at, in) == FATE_RETURNS;
}

bool text_marks_call_ends(const struct text_marks *m, uint32_t at, const struct instruction *in)
{
	return fate(m, at, in) == FATE_NEVER;
}

bool text_marks_is_padding(const struct text_marks *m, uint32_t at, uint32_t *ret_length)
{
	uint8_t byte = m->text.bytes[at];
	struct instruction in;

	*ret_length = 1;
	if (!byte || byte == 0xcc)
		return true;
	in = text_marks_decode(m, at);
	*ret_length = in.length;
	return in.kind == INSTRUCTION_NOP;
}
