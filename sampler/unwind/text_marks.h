/*
 * The text that derived_rules.h looks at, byte by byte: what was reached, and as part of what. One
 * function is in hand at a time; what it took stays taken, whether it got rules or not.
 */
#ifndef SPROF_TEXT_MARKS_H
#define SPROF_TEXT_MARKS_H

#include "sampler/unwind/derived_rules.h"
#include "sampler/unwind/x86_64/instruction.h"

/* What is known of a byte of the text. */
enum code_byte {
	BYTE_BEGIN = 1,	 /* the first of an instruction that was reached */
	BYTE_INSIDE = 2, /* another of one, or not to be looked at */
	BYTE_LEADER = 4, /* begins a block: a jump leads here */
	BYTE_OWN = 8,	 /* of the function in hand */
	BYTE_BARE = 16,	 /* of a function with rules, its frame bare: as good as where one begins */
	BYTE_ENTRY = 32, /* a function is said to begin there */
	BYTE_GOOD = 64,	 /* of a function with rules */
	BYTE_TAKEN = BYTE_BEGIN | BYTE_INSIDE,
};

struct code_map {
	struct code_text text;
	uint8_t *bytes; /* enum code_byte */
	uint8_t *
		plain; /* the length of an instruction that was reached and changes nothing, or 0 */
	uint32_t entry,
		end;  /* of the function in hand: its start, and that of what was not reached */
	bool guessed; /* nobody said that it begins there */
};

void code_map_init(struct code_map *map, const struct code_text *text);
void code_map_fini(struct code_map *map);

/* Most instructions of a kernel are about vectors: they are decoded once, and are a NOP again. */
struct instruction code_map_decode(const struct code_map *map, uint32_t at);

bool code_is_branch(const struct instruction *in);
bool code_is_call(const struct instruction *in);
/* Does the code not go on after it? */
bool code_ends_block(const struct instruction *in);
/* Where a branch leads, relative to the text. */
int64_t code_target(const struct instruction *in, uint32_t at);

/* May the function in hand have instructions there? */
bool code_map_in_reach(const struct code_map *map, int64_t target);
/* The first byte of an instruction of the function in hand, once all are known. */
bool code_map_is_own(const struct code_map *map, int64_t at);
/* A branch leads out of the function. false: nobody knows what is there. */
bool code_map_reach_other(const struct code_map *map, int64_t target);
/* Takes an instruction's bytes. false: they are another's. */
bool code_map_take(struct code_map *map, uint32_t at, const struct instruction *in);
/* The function in hand is done with; `good`: it has rules. */
void code_map_disown(struct code_map *map, bool good);
/* What lies between functions, and how long it is. */
bool code_map_is_padding(const struct code_map *map, uint32_t at, uint32_t *ret_length);

#endif
