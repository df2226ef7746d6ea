/*
 * Looks at one function of machine code, in passes: find its blocks (code_blocks.c), propagate what
 * is known of the frame until nothing changes, find from where it can be left, emit its rules
 * (derived_function.c). Bytes that got rules are marked (text_marks.h) and never looked at again as
 * another function's.
 */
#ifndef SPROF_DERIVED_FUNCTION_H
#define SPROF_DERIVED_FUNCTION_H

#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/code/text_marks.h"
#include "sampler/unwind/x86_64/abstract_frame.h"

/* How sure it is that a function begins at an address. */
enum function_trust {
	FUNCTION_GUESSED, /* code that nothing is known to lead to */
	FUNCTION_HINTED,  /* its address is used, perhaps for something else */
	FUNCTION_LEFT,	  /* the same, but all other functions were found, and it is in none */
	FUNCTION_SURE,	  /* a symbol names it, or code calls it */
};

/* What a function without exits needs in order to have rules. */
enum function_effort {
	EFFORT_CERTAIN, /* no call in it that may not return: all of it is certain to be its code */
	EFFORT_CLOSED,	/* of calls that may not return, only those of unknown functions */
	EFFORT_ALL,	/* nothing: what is certain has rules; its bytes are not looked at again */
};

struct code_block {
	uint32_t start;
	bool known, queued;
	bool tail_call;	  /* ends in a jump to an address in a register, as at its entry */
	bool certain;	  /* reached without passing a call that may not return */
	uint32_t leaves;  /* end of its last instruction that can lead to an exit, or 0 */
	uint32_t sure_to; /* end of the part that is reached without such a call */
	struct abstract_frame state; /* at its start */
};

/* A jump through a table, and one of the places that it leads to. */
struct table_edge {
	uint32_t jump, target;
};

struct function_search {
	struct text_marks map;
	struct derived_rule *rules;
	size_t nr_rules, rules_capacity;
	struct derived_function *functions;
	size_t nr_functions, functions_capacity;
	uint64_t steps_left;
	bool first_round; /* what was not understood is looked at again */
	/* of the current function */
	enum function_effort effort;
	enum function_trust trust;
	struct code_block *blocks; /* by start, once all are known */
	size_t nr_blocks, blocks_capacity;
	struct table_edge *edges; /* by jump, once all are known */
	size_t nr_edges, edges_capacity;
	uint32_t *queue; /* offsets (pass 1), then indices of blocks, still to be followed */
	size_t nr_queue, queue_capacity;
	uint32_t nr_exits;
	bool returns;  /* by a ret, or by a jump to another function */
	bool partial;  /* some of its code was not found */
	bool cut;      /* behind a call of a function that was not understood yet */
	bool doubtful; /* padding follows a call that may not return, then more code */
	/* There is code behind a call that may not return: of a known or an unknown function. */
	bool uncertain, uncertain_indirect;
	size_t first_rule;
};

/* Where an edge of the flow of control leads. */
enum code_edge {
	EDGE_OWN,     /* to the current function's code */
	EDGE_OTHER,   /* to the start of another function */
	EDGE_UNKNOWN, /* elsewhere */
};

/*
 * Finds the blocks of the function at map.entry. false: this is not a function, or one that cannot
 * be understood.
 */
bool code_blocks_find(struct function_search *search);
struct code_block *code_blocks_at(const struct function_search *search, int64_t start);
enum code_edge code_blocks_edge(const struct function_search *search, int64_t target);
/* The first edge of the jump through a table at that offset; *ret_nr of them. */
const struct table_edge *code_blocks_edges(const struct function_search *search, uint32_t jump,
					   size_t *ret_nr);
/* Does execution never continue behind this instruction? */
bool code_blocks_ends(const struct function_search *search, uint32_t at,
		      const struct instruction *in);

/* Takes from the steps that are left. false: none are. */
bool function_search_take_steps(struct function_search *search, uint64_t nr);
void function_search_push(struct function_search *search, uint32_t number);

/*
 * Looks at the function that may begin there. true: it has rules. Otherwise its bytes can still be
 * another function's, except with EFFORT_ALL.
 */
bool function_search_look(struct function_search *search, uint32_t entry, enum function_trust trust,
			  enum function_effort effort);

#endif
