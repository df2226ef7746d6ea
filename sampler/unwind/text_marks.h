/*
 * The text that derived_rules.h looks at, byte by byte: what was reached, and as part of what. One
 * function is in hand at a time; what it took stays taken, whether it got rules or not.
 */
#ifndef SPROF_TEXT_MARKS_H
#define SPROF_TEXT_MARKS_H

#include "sampler/unwind/derived_rules.h"
#include "sampler/unwind/x86_64/instruction.h"

/* What is known of a byte of the text. */
enum text_mark {
	BYTE_BEGIN = 1,	 /* the first of an instruction that was reached */
	BYTE_INSIDE = 2, /* another of one, or not to be looked at */
	BYTE_LEADER = 4, /* begins a block: a jump leads here */
	BYTE_OWN = 8,	 /* of the function in hand */
	BYTE_BARE = 16,	 /* of a function with rules, its frame bare: as good as where one begins */
	BYTE_ENTRY = 32, /* a function is said to begin there */
	BYTE_GOOD = 64,	 /* of a function with rules */
	BYTE_TAKEN = BYTE_BEGIN | BYTE_INSIDE,
};

struct text_marks {
	struct derived_text text;
	uint8_t *bytes; /* enum text_mark */
	uint8_t *
		plain; /* the length of an instruction that was reached and changes nothing, or 0 */
	uint32_t entry,
		end;  /* of the function in hand: its start, and that of what was not reached */
	bool guessed; /* nobody said that it begins there */
};

void text_marks_init(struct text_marks *map, const struct derived_text *text);
void text_marks_fini(struct text_marks *map);

/* Most instructions of a kernel are about vectors: they are decoded once, and are a NOP again. */
struct instruction text_marks_decode(const struct text_marks *map, uint32_t at);

bool instruction_is_branch(const struct instruction *in);
bool instruction_is_call(const struct instruction *in);
/* Does the code not go on after it? */
bool instruction_ends_block(const struct instruction *in);
/* Where a branch leads, relative to the text. */
int64_t instruction_target(const struct instruction *in, uint32_t at);

/* May the function in hand have instructions there? */
bool text_marks_in_reach(const struct text_marks *map, int64_t target);
/* The first byte of an instruction of the function in hand, once all are known. */
bool text_marks_is_own(const struct text_marks *map, int64_t at);
/* A branch leads out of the function. false: nobody knows what is there. */
bool text_marks_reach_other(const struct text_marks *map, int64_t target);
/* Takes an instruction's bytes. false: they are another's. */
bool text_marks_take(struct text_marks *map, uint32_t at, const struct instruction *in);
/* The function in hand is done with; `good`: it has rules. */
void text_marks_disown(struct text_marks *map, bool good);
/* What lies between functions, and how long it is. */
bool text_marks_is_padding(const struct text_marks *map, uint32_t at, uint32_t *ret_length);

#endif
