/*
 * A mark for each byte of the text that derived_rules.h looks at: whether it was reached, and as
 * part of what. One function is looked at at a time ("the current function"); bytes that it took
 * are never another's, whether it got rules or not.
 */
#ifndef SPROF_TEXT_MARKS_H
#define SPROF_TEXT_MARKS_H

#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/x86_64/instruction.h"

/* What is known of a byte of the text. */
enum text_mark {
	BYTE_BEGIN = 1,	 /* the first byte of a reached instruction */
	BYTE_INSIDE = 2, /* a later byte of one */
	BYTE_LEADER = 4, /* begins a block: the target of a jump */
	BYTE_OWN = 8,	 /* of the current function */
	BYTE_BARE = 16,	 /* of a function with rules, where its frame is as at its start */
	BYTE_ENTRY = 32, /* a function is known to begin there */
	BYTE_GOOD = 64,	 /* of a function with rules */
	BYTE_HINT = 128, /* a function may begin there */
	BYTE_TAKEN = BYTE_BEGIN | BYTE_INSIDE,
	BYTE_EXCLUDED = BYTE_INSIDE | BYTE_LEADER, /* has rules already */
};

struct text_marks {
	struct derived_text text;
	uint8_t *bytes; /* enum text_mark */
	uint8_t *plain; /* the length of a reached instruction without effect on the frame, or 0 */
	/* A bit for each byte: the function that begins there can return, or never does. */
	uint8_t *returns, *no_return;
	/* Of the current function: where it is entered, and the bounds of what it reached. */
	uint32_t entry, start, end;
	bool guessed; /* the start of the current function is a guess */
};

void text_marks_init(struct text_marks *map, const struct derived_text *text);
void text_marks_fini(struct text_marks *map);

/* Decodes an instruction. One without effect on the frame is a NOP when it is decoded again. */
struct instruction text_marks_decode(const struct text_marks *map, uint32_t at);

bool instruction_is_branch(const struct instruction *in);
bool instruction_is_call(const struct instruction *in);
/* Does execution never continue after it? */
bool instruction_ends_block(const struct instruction *in);
/* The target of a branch, as an offset in the text. */
int64_t instruction_target(const struct instruction *in, uint32_t at);

/* May the current function have instructions there? */
bool text_marks_in_reach(const struct text_marks *map, int64_t target);
bool text_marks_is_excluded(const struct text_marks *map, int64_t at);
/* Does an instruction of the current function begin there? To be asked when all are known. */
bool text_marks_is_own(const struct text_marks *map, int64_t at);
/* Is the target of a branch out of the function the start of another one? false: unknown. */
bool text_marks_reach_other(const struct text_marks *map, int64_t target);
/* Marks an instruction's bytes as the current function's. false: they are taken. */
bool text_marks_take(struct text_marks *map, uint32_t at, const struct instruction *in);
/*
 * Ends the work on the current function; `good`: it got rules. Without rules, its bytes stay taken
 * only if `keep` is set.
 */
void text_marks_disown(struct text_marks *map, bool good, bool keep);
/* Says that the current function can return, or never does. */
void text_marks_set_returns(struct text_marks *map, bool returns);
/* Is it a call of a function that is known to return, or never to return? */
bool text_marks_call_returns(const struct text_marks *map, uint32_t at,
			     const struct instruction *in);
bool text_marks_call_ends(const struct text_marks *map, uint32_t at, const struct instruction *in);
/* Is it padding between functions? *ret_length bytes of it. */
bool text_marks_is_padding(const struct text_marks *map, uint32_t at, uint32_t *ret_length);

#endif
