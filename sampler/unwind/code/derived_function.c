/*
 * Passes 2 to 4 over the blocks of a function. A function must prove itself: at each exit that was
 * found rsp is at the return address and rbp is the caller's. Code that leads to such an exit has
 * the right frame. Other code has rules only in a function that is sure to be one: as far as no
 * call that may not return comes before it, or all of it if all ways through the function end in
 * calls that never return.
 */
#include "sampler/unwind/code/derived_function.h"

#include <string.h>

#include "core/base/alloc.h"
#include "sampler/unwind/x86_64/jump_table.h"

#define MAX_STUB 4u /* bytes before its jump: endbr64 */

/* Does another block begin there, or is it no code of the function any more? */
static bool is_block_end(const struct function_search *s, uint32_t at)
{
	return (s->map.bytes[at] & BYTE_LEADER) || !text_marks_is_own(&s->map, at);
}

/* ---- pass 2: the frame at each block */

static bool meet(struct function_search *s, int64_t target, const struct abstract_frame *state)
{
	enum code_edge edge = code_blocks_edge(s, target);
	struct code_block *block;

	if (edge == EDGE_OTHER) {
		s->nr_exits++;
		s->returns = true;
		return abstract_frame_is_bare(state);
	}
	if (edge == EDGE_UNKNOWN) {
		s->partial = true;
		return s->trust == FUNCTION_SURE;
	}
	block = code_blocks_at(s, target);
	if (!block)
		return false;
	if (!block->known) {
		block->state = *state;
		block->known = true;
	} else if (!abstract_frame_meet(&block->state, state)) {
		return true;
	}
	if (!block->queued)
		function_search_push(s, (uint32_t)(block - s->blocks));
	block->queued = true;
	return true;
}

/*
 * Is the function no more than a jump to what a word of memory names, and not to one of several
 * forms of a function in this file? So imports are called, which may never return. Compilers make
 * no other jumps to functions that never return.
 */
static bool is_import(const struct function_search *s, uint32_t jump)
{
	const struct derived_text *text = &s->map.text;
	uint64_t slot;

	if (jump - s->map.entry > MAX_STUB)
		return false;
	return !text->is_own_slot ||
	       !jump_slot_find(text->bytes + jump, text->size - jump, text->vaddr + jump, &slot) ||
	       !text->is_own_slot(text->context, slot);
}

/*
 * Is all that stands there a jump to what a register holds? So a comparison of three arguments is
 * handed on to one of two. If it is a label all the same, only its jump gets a wrong rule.
 */
static bool is_forwarder(const struct function_search *s, uint32_t jump)
{
	struct instruction in = text_marks_decode(&s->map, jump);

	return s->trust == FUNCTION_LEFT && jump == s->map.entry && in.reg != INSTRUCTION_NO_REG;
}

/*
 * A jump through a table leads to its entries. Any other that finds a bare frame is a tail call, if
 * this is a function and not a label of one: interpreters jump from label to label in this way.
 */
static bool meet_indirect(struct function_search *s, struct code_block *block, uint32_t jump,
			  const struct abstract_frame *state)
{
	size_t nr;
	const struct table_edge *edges = code_blocks_edges(s, jump, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (!meet(s, edges[i].target, state))
			return false;
	}
	if (nr)
		return true;
	block->tail_call = abstract_frame_is_bare(state) &&
			   (s->trust == FUNCTION_SURE || is_forwarder(s, jump));
	if (block->tail_call) {
		s->nr_exits++;
		s->returns |= !is_import(s, jump);
		return true;
	}
	s->partial = true;
	return s->trust == FUNCTION_SURE;
}

/* Follows one block. false: this is not a function, or one that cannot be understood. */
static bool follow(struct function_search *s, struct code_block *block)
{
	struct abstract_frame state = block->state;
	uint32_t at = block->start;

	while (function_search_take_steps(s, 1)) {
		struct instruction in = text_marks_decode(&s->map, at);

		if (in.kind == INSTRUCTION_RET) {
			s->nr_exits++;
			s->returns = true;
			return abstract_frame_is_bare(&state);
		}
		if (in.kind == INSTRUCTION_JUMP_INDIRECT)
			return meet_indirect(s, block, at, &state);
		if (in.kind != INSTRUCTION_NOP && !abstract_frame_step(&state, &in))
			return false;
		if (instruction_is_branch(&in) && !meet(s, instruction_target(&in, at), &state))
			return false;
		if (code_blocks_ends(s, at, &in))
			return true;
		at += in.length;
		if (is_block_end(s, at))
			return !text_marks_is_own(&s->map, at) || meet(s, at, &state);
	}
	return false;
}

static bool follow_all(struct function_search *s)
{
	struct abstract_frame bare;

	abstract_frame_init(&bare);
	s->nr_exits = 0;
	s->nr_queue = 0;
	if (!meet(s, s->map.entry, &bare))
		return false;
	while (s->nr_queue) {
		struct code_block *block = &s->blocks[s->queue[--s->nr_queue]];

		block->queued = false;
		if (!follow(s, block))
			return false;
	}
	return s->nr_exits > 0 || s->trust >= FUNCTION_LEFT;
}

/* ---- pass 3: find the code that can reach an exit, or is certain to be the function's */

static bool can_leave(const struct function_search *s, int64_t target)
{
	switch (code_blocks_edge(s, target)) {
	case EDGE_OWN: return code_blocks_at(s, target)->leaves;
	case EDGE_OTHER: return true;
	default: return false;
	}
}

static bool jump_can_leave(const struct function_search *s, const struct code_block *block,
			   uint32_t jump)
{
	size_t nr;
	const struct table_edge *edges = code_blocks_edges(s, jump, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (can_leave(s, edges[i].target))
			return true;
	}
	return block->tail_call;
}

/* Looks at one block again. true: more of it turned out to reach an exit. */
static bool find_leaves(struct function_search *s, struct code_block *block)
{
	uint32_t at = block->start, leaves = 0;

	while (function_search_take_steps(s, 1)) {
		struct instruction in = text_marks_decode(&s->map, at);
		uint32_t next = at + in.length;

		if (in.kind == INSTRUCTION_RET ||
		    (in.kind == INSTRUCTION_JUMP_INDIRECT && jump_can_leave(s, block, at)) ||
		    (text_marks_call_ends(&s->map, at, &in) && !s->doubtful && !s->uncertain) ||
		    (instruction_is_branch(&in) && can_leave(s, instruction_target(&in, at))))
			leaves = next;
		if (code_blocks_ends(s, at, &in))
			break;
		at = next;
		if (is_block_end(s, at)) {
			if (text_marks_is_own(&s->map, at) && can_leave(s, at))
				leaves = at;
			break;
		}
	}
	if (leaves == block->leaves)
		return false;
	block->leaves = leaves;
	return true;
}

/*
 * Code that reaches no exit may not be the function's: anything may follow a call that does not
 * return. Code that reaches one had the right rsp there. A call that is known never to return is as
 * good, unless there are other calls that may not, or padding tells that another function may have
 * begun before it. false: no steps are left.
 */
static bool find_all_leaves(struct function_search *s)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = s->nr_blocks; i-- > 0;)
			more |= find_leaves(s, &s->blocks[i]);
	}
	return s->steps_left;
}

static void add_certain(struct function_search *s, int64_t target)
{
	struct code_block *block;

	if (code_blocks_edge(s, target) != EDGE_OWN)
		return;
	block = code_blocks_at(s, target);
	if (block->certain)
		return;
	block->certain = true;
	function_search_push(s, (uint32_t)(block - s->blocks));
}

/* Follows a block that is certainly reached, up to the first call that may not return. */
static void follow_certain(struct function_search *s, struct code_block *block)
{
	uint32_t at = block->start;

	while (function_search_take_steps(s, 1)) {
		struct instruction in = text_marks_decode(&s->map, at);
		const struct table_edge *edges;
		size_t nr;

		block->sure_to = at + in.length;
		if (instruction_is_branch(&in))
			add_certain(s, instruction_target(&in, at));
		if (in.kind == INSTRUCTION_JUMP_INDIRECT) {
			edges = code_blocks_edges(s, at, &nr);
			for (size_t i = 0; i < nr; i++)
				add_certain(s, edges[i].target);
		}
		if (code_blocks_ends(s, at, &in))
			return;
		at += in.length;
		if (instruction_is_call(&in) &&
		    !text_marks_call_returns(&s->map, at - in.length, &in)) {
			if (!text_marks_is_own(&s->map, at))
				return;
			if (in.kind == INSTRUCTION_CALL)
				s->uncertain = true;
			else
				s->uncertain_indirect = true;
			return;
		}
		if (is_block_end(s, at)) {
			add_certain(s, at);
			return;
		}
	}
}

static bool find_certain(struct function_search *s)
{
	s->nr_queue = 0;
	add_certain(s, s->map.entry);
	while (s->nr_queue)
		follow_certain(s, &s->blocks[s->queue[--s->nr_queue]]);
	return s->steps_left;
}

/* ---- pass 4: the rules */

static bool add_rule(struct function_search *s, uint32_t start, uint32_t end,
		     const struct abstract_frame *state)
{
	struct derived_rule *last = s->nr_rules > s->first_rule ? &s->rules[s->nr_rules - 1] : NULL;
	struct walk_rule rule;

	if (!abstract_frame_rule(state, &rule))
		return false;
	if (last && last->end == start && !memcmp(&last->rule, &rule, sizeof(rule))) {
		last->end = end;
		return true;
	}
	s->rules = xgrow(s->rules, &s->rules_capacity, s->nr_rules + 1, sizeof(*s->rules));
	s->rules[s->nr_rules++] = (struct derived_rule){ start, end, rule };
	return true;
}

/* Do all ways through the function end in calls that never return, or in loops? */
static bool is_closed(const struct function_search *s)
{
	return !s->nr_exits && !s->partial && !s->uncertain &&
	       !(s->uncertain_indirect && s->doubtful);
}

static bool is_enough(const struct function_search *s)
{
	if (s->nr_exits || s->effort == EFFORT_ALL)
		return true;
	return is_closed(s) && (!s->uncertain_indirect || s->effort == EFFORT_CLOSED);
}

/* Up to where a block has rules. */
static uint32_t rules_end(const struct function_search *s, const struct code_block *block)
{
	if (is_closed(s))
		return UINT32_MAX;
	if (s->trust != FUNCTION_SURE || block->leaves > block->sure_to)
		return block->leaves;
	return block->sure_to;
}

/*
 * Adds a block's rules. A call keeps the rule before it for its first byte, then takes that of its
 * return address: walks look up return addresses one byte early.
 */
static bool add_block_rules(struct function_search *s, const struct code_block *block)
{
	struct abstract_frame state = block->state;
	uint32_t at = block->start, limit = rules_end(s, block);

	while (at < limit) {
		struct instruction in = text_marks_decode(&s->map, at);
		bool call = instruction_is_call(&in), ends = code_blocks_ends(s, at, &in);
		uint32_t end = at + in.length;

		if (abstract_frame_is_bare(&state))
			s->map.bytes[at] |= BYTE_BARE;
		while (s->map.plain[at] && s->map.plain[end] && end < limit &&
		       !is_block_end(s, end))
			end += s->map.plain[end];
		if (!add_rule(s, at, call ? at + 1 : end, &state))
			return false;
		if (!call && ends)
			return true;
		if (!abstract_frame_step(&state, &in) ||
		    (call && !add_rule(s, at + 1, end, &state)))
			return false;
		at = end;
		if (ends || is_block_end(s, at))
			return true;
	}
	return true;
}

static bool add_rules(struct function_search *s)
{
	for (size_t i = 0; i < s->nr_blocks; i++) {
		if (s->blocks[i].known ? !add_block_rules(s, &s->blocks[i])
				       : s->trust != FUNCTION_SURE)
			return false;
	}
	return true;
}

static void add_function(struct function_search *s)
{
	s->functions = xgrow(s->functions, &s->functions_capacity, s->nr_functions + 1,
			     sizeof(*s->functions));
	s->functions[s->nr_functions++] = (struct derived_function){ s->map.start, s->map.end };
	if (s->returns)
		text_marks_set_returns(&s->map, true);
	else if (is_closed(s))
		text_marks_set_returns(&s->map, false);
}

bool function_search_look(struct function_search *s, uint32_t entry, enum function_trust trust,
			  enum function_effort effort)
{
	bool good;

	s->map.entry = s->map.start = s->map.end = entry;
	s->map.guessed = trust == FUNCTION_GUESSED;
	s->trust = trust;
	s->effort = effort;
	s->first_rule = s->nr_rules;
	good = code_blocks_find(s) && follow_all(s) && find_certain(s) && find_all_leaves(s) &&
	       is_enough(s) && add_rules(s);
	if (good && s->cut && s->first_round) {
		if (s->returns)
			text_marks_set_returns(&s->map, true);
		good = false;
	}
	if (good)
		add_function(s);
	else
		s->nr_rules = s->first_rule;
	for (size_t i = 0; i < s->nr_blocks; i++) {
		uint8_t *byte = &s->map.bytes[s->blocks[i].start];

		if (!(*byte & BYTE_BEGIN)) /* found but not reached */
			*byte &= (uint8_t) ~(BYTE_LEADER | BYTE_OWN);
	}
	text_marks_disown(&s->map, good, effort == EFFORT_ALL);
	function_search_take_steps(s, s->map.end - s->map.start);
	return good;
}
