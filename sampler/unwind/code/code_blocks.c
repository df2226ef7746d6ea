/*
 * Follows the code from a function's entry until all of it ends. Behind a call that runs into the
 * start of another function, execution does not continue: the function that is called does not
 * return.
 */
#include "sampler/unwind/code/derived_function.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "sampler/unwind/x86_64/jump_table.h"

#define ALIGNMENT 16 /* of most functions */
#define MAX_TABLE_ENTRIES 1024u
#define MAX_RETRIED 65536u /* bytes before the entry; looking at more again takes too many steps */

bool function_search_take_steps(struct function_search *s, uint64_t nr)
{
	s->steps_left -= nr < s->steps_left ? nr : s->steps_left;
	return s->steps_left;
}

void function_search_push(struct function_search *s, uint32_t number)
{
	s->queue = xgrow(s->queue, &s->queue_capacity, s->nr_queue + 1, sizeof(*s->queue));
	s->queue[s->nr_queue++] = number;
}

static void add_block(struct function_search *s, uint32_t start)
{
	s->map.bytes[start] |= BYTE_LEADER | BYTE_OWN;
	s->blocks = xgrow(s->blocks, &s->blocks_capacity, s->nr_blocks + 1, sizeof(*s->blocks));
	s->blocks[s->nr_blocks++] = (struct code_block){ .start = start };
	function_search_push(s, start);
}

/* What cannot be followed is left out of functions that are sure to be some. */
static bool leave_out(struct function_search *s)
{
	s->partial = true;
	return s->trust == FUNCTION_SURE;
}

static bool is_others(const struct function_search *s, int64_t at)
{
	uint8_t byte = s->map.bytes[at];

	return at != s->map.entry &&
	       ((byte & BYTE_ENTRY) || ((byte & BYTE_BEGIN) && !(byte & BYTE_OWN)) ||
		text_marks_is_excluded(&s->map, at));
}

/* Notes that execution may continue there. */
static bool reach(struct function_search *s, int64_t target)
{
	if (!text_marks_in_reach(&s->map, target) || is_others(s, target))
		return text_marks_reach_other(&s->map, target) || leave_out(s);
	if (s->map.bytes[target] & BYTE_INSIDE)
		return false;
	if (target < s->map.entry && s->trust != FUNCTION_SURE)
		return false;
	if (!(s->map.bytes[target] & BYTE_LEADER) || !(s->map.bytes[target] & BYTE_OWN))
		add_block(s, (uint32_t)target);
	return true;
}

static bool read_entry(const struct function_search *s, const struct jump_table *table,
		       uint32_t number, int64_t *ret_target)
{
	const struct derived_text *text = &s->map.text;
	uint64_t address = 0;
	int32_t distance = 0;

	if (table->relative) {
		if (!text->read(text->context, table->vaddr + 4ull * number, &distance, 4))
			return false;
		address = table->vaddr + (uint64_t)(int64_t)distance;
	} else if (!text->read(text->context, table->vaddr + 8ull * number, &address, 8)) {
		return false;
	}
	*ret_target = (int64_t)(address - text->vaddr);
	return true;
}

static void add_edge(struct function_search *s, uint32_t jump, uint32_t target)
{
	s->edges = xgrow(s->edges, &s->edges_capacity, s->nr_edges + 1, sizeof(*s->edges));
	s->edges[s->nr_edges++] = (struct table_edge){ jump, target };
}

/* How many entries there can be before the next thing that code refers to. */
static uint32_t entries_before_next(const struct function_search *s, const struct jump_table *table)
{
	const struct derived_text *text = &s->map.text;
	uint64_t end = text->next_reference ? text->next_reference(text->context, table->vaddr)
					    : UINT64_MAX;
	uint64_t nr = (end - table->vaddr) / (table->relative ? 4 : 8);

	return nr < MAX_TABLE_ENTRIES ? (uint32_t)nr : MAX_TABLE_ENTRIES;
}

/*
 * Reaches what a jump through a table leads to. If the code does not tell how many entries the
 * table has, it ends before the first that is no place of this function, and before the next thing
 * that code refers to.
 */
static bool reach_table(struct function_search *s, uint32_t jump, const struct straight_line *line)
{
	const struct derived_text *text = &s->map.text;
	struct jump_table table;
	uint32_t nr;

	if (!text->read || !jump_table_find(text->bytes, text->size, text->vaddr, line, &table))
		return s->trust != FUNCTION_GUESSED;
	nr = entries_before_next(s, &table);
	if (table.nr_entries && table.nr_entries < nr)
		nr = table.nr_entries;
	for (uint32_t i = 0; i < nr && function_search_take_steps(s, 1); i++) {
		int64_t target;

		if (!read_entry(s, &table, i, &target))
			break;
		if (!text_marks_in_reach(&s->map, target) || is_others(s, target) ||
		    (s->map.bytes[target] & BYTE_INSIDE) ||
		    (target < s->map.entry && !table.nr_entries)) {
			s->partial = true;
			if (!table.nr_entries)
				break;
			continue;
		}
		if (!reach(s, target))
			return false;
		add_edge(s, jump, (uint32_t)target);
	}
	return true;
}

/* Is it known where execution continues after the instruction? */
static bool is_followed(const struct function_search *s, uint32_t at, const struct instruction *in)
{
	if (in->kind == INSTRUCTION_CALL && !in->value) /* pushes its pc, to read it */
		return false;
	if (s->trust == FUNCTION_GUESSED &&
	    ((instruction_is_call(in) && !text_marks_call_returns(&s->map, at, in)) ||
	     in->kind == INSTRUCTION_SYSCALL || in->kind == INSTRUCTION_JUMP_INDIRECT))
		return false;
	return in->kind != INSTRUCTION_BAD;
}

/*
 * May another function begin there, behind a call that may not return? What code or data refer to
 * is mostly a function, and so is often what follows padding.
 */
static bool is_doubtful(struct function_search *s, uint32_t at, bool after_padding)
{
	if (after_padding || at % ALIGNMENT == 0)
		s->doubtful = true;
	if (!(s->map.bytes[at] & BYTE_HINT) || s->trust == FUNCTION_GUESSED)
		return false;
	s->partial = true;
	return true;
}

/* Does it call a function that was not understood yet? */
static bool calls_unknown(const struct function_search *s, uint32_t at,
			  const struct instruction *in)
{
	int64_t target = instruction_target(in, at);

	return in->kind == INSTRUCTION_CALL && text_marks_in_reach(&s->map, target) &&
	       !text_marks_is_excluded(&s->map, target) && !(s->map.bytes[target] & BYTE_GOOD);
}

/*
 * Follows the code from a block's start until it ends or reaches code that was followed. Parts that
 * compilers put in front of a function are for errors, and mostly end in a call that never returns,
 * with a part of another function right behind it.
 */
static bool discover(struct function_search *s, uint32_t at)
{
	struct straight_line line = { .nr = 0 };
	bool after_call = false, after_padding = false; /* a call that may not return */
	bool is_known_later = false;			/* whether it does */

	for (;;) {
		struct instruction in;

		if (!text_marks_in_reach(&s->map, at))
			return after_call || leave_out(s);
		if (text_marks_is_own(&s->map, at))
			return true;
		if ((s->map.bytes[at] & BYTE_TAKEN) || is_others(s, at))
			return after_call && is_others(s, at);
		in = text_marks_decode(&s->map, at);
		if (after_call && in.kind != INSTRUCTION_NOP && is_doubtful(s, at, after_padding))
			return true;
		if (!is_followed(s, at, &in) || !text_marks_take(&s->map, at, &in))
			return false;
		straight_line_add(&line, at);
		if (in.kind == INSTRUCTION_JUMP_INDIRECT)
			return reach_table(s, at, &line);
		if (instruction_is_branch(&in) && !reach(s, instruction_target(&in, at)))
			return false;
		if (code_blocks_ends(s, at, &in))
			return true;
		after_padding = in.kind == INSTRUCTION_NOP;
		if (!after_padding) {
			after_call = instruction_is_call(&in) &&
				     !text_marks_call_returns(&s->map, at, &in);
			is_known_later = after_call && calls_unknown(s, at, &in);
		}
		if (after_call && !after_padding && at < s->map.entry) {
			s->partial = true;
			s->cut |= is_known_later && s->map.entry - at <= MAX_RETRIED;
			return true;
		}
		at += in.length;
	}
}

static int compare_blocks(const void *a, const void *b)
{
	const struct code_block *x = a, *y = b;

	return ORDER(x->start, y->start);
}

static int compare_edges(const void *a, const void *b)
{
	const struct table_edge *x = a, *y = b;

	return ORDER(x->jump, y->jump);
}

bool code_blocks_find(struct function_search *s)
{
	bool good = true;

	s->nr_queue = s->nr_blocks = s->nr_edges = 0;
	s->cut = s->partial = s->doubtful = s->uncertain = s->uncertain_indirect = s->returns =
		false;
	add_block(s, s->map.entry);
	while (s->nr_queue && good)
		good = discover(s, s->queue[--s->nr_queue]);
	qsort(s->blocks, s->nr_blocks, sizeof(*s->blocks), compare_blocks);
	if (s->nr_edges)
		qsort(s->edges, s->nr_edges, sizeof(*s->edges), compare_edges);
	return good;
}

struct code_block *code_blocks_at(const struct function_search *s, int64_t start)
{
	struct code_block key = { .start = (uint32_t)start };

	return bsearch(&key, s->blocks, s->nr_blocks, sizeof(key), compare_blocks);
}

enum code_edge code_blocks_edge(const struct function_search *s, int64_t target)
{
	if (text_marks_is_own(&s->map, target))
		return EDGE_OWN;
	return text_marks_reach_other(&s->map, target) ? EDGE_OTHER : EDGE_UNKNOWN;
}

const struct table_edge *code_blocks_edges(const struct function_search *s, uint32_t jump,
					   size_t *ret_nr)
{
	size_t first = SEARCH(i, s->nr_edges, s->edges[i].jump < jump), end;

	for (end = first; end < s->nr_edges && s->edges[end].jump == jump;)
		end++;
	*ret_nr = end - first;
	return *ret_nr ? &s->edges[first] : NULL;
}

bool code_blocks_ends(const struct function_search *s, uint32_t at, const struct instruction *in)
{
	return instruction_ends_block(in) || in->kind == INSTRUCTION_JUMP_INDIRECT ||
	       text_marks_call_ends(&s->map, at, in);
}
