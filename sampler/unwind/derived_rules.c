/*
 * Each candidate function is looked at in passes: find its blocks, propagate what is known of the
 * frame until nothing changes, find from where it can be left, emit its rules. Bytes that were
 * looked at are marked (text_marks.h) and never looked at again as another function's, so the work
 * is linear.
 */
#include "sampler/unwind/derived_rules.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/unwind/text_marks.h"
#include "sampler/unwind/x86_64/abstract_frame.h"
#include "sampler/unwind/x86_64/instruction.h"

#define ALIGNMENT 16u /* of functions whose start is guessed */
/*
 * Hostile code can need a number of steps that grows with the square of its size. Real code needs
 * less than two per byte (libtorch_cpu.so, node, Go programs).
 */
#define STEPS_PER_BYTE 64u
#define FIRST_STEPS 4096u

struct block {
	uint32_t start;
	bool known, queued;
	uint32_t leaves; /* end of its last instruction that can lead to an exit, or 0 */
	struct abstract_frame state; /* at its start */
};

struct derived_rules {
	struct text_marks map;
	struct derived_rule *rules;
	size_t nr_rules, rules_capacity;
	struct derived_function *functions;
	size_t nr_functions, functions_capacity;
	/* of the current function */
	struct block *blocks; /* by start, once all are known */
	size_t nr_blocks, blocks_capacity;
	uint32_t *queue; /* offsets (pass 1), then indices of blocks, still to be followed */
	size_t nr_queue, queue_capacity;
	uint32_t nr_exits;
	size_t first_rule;
	uint64_t steps_left;
};

struct derived_rules *derived_rules_new(const struct derived_text *text)
{
	struct derived_rules *r = xcalloc(1, sizeof(*r));

	text_marks_init(&r->map, text);
	derived_rules_set_steps(r, STEPS_PER_BYTE);
	return r;
}

void derived_rules_free(struct derived_rules *r)
{
	if (!r)
		return;
	text_marks_fini(&r->map);
	free(r->rules);
	free(r->functions);
	free(r->blocks);
	free(r->queue);
	free(r);
}

void derived_rules_set_steps(struct derived_rules *r, uint32_t steps_per_byte)
{
	r->steps_left = (uint64_t)r->map.text.size * steps_per_byte + FIRST_STEPS;
}

void derived_rules_exclude(struct derived_rules *r, size_t start, size_t end)
{
	for (size_t i = start; i < end && i < r->map.text.size; i++)
		r->map.bytes[i] |= BYTE_INSIDE;
}

void derived_rules_add_entry(struct derived_rules *r, size_t start)
{
	if (start < r->map.text.size)
		r->map.bytes[start] |= BYTE_ENTRY;
}

const struct derived_rule *derived_rules_get(const struct derived_rules *r, size_t *ret_nr)
{
	*ret_nr = r->nr_rules;
	return r->rules;
}

uint32_t derived_rules_nr_functions(const struct derived_rules *r)
{
	return (uint32_t)r->nr_functions;
}

const struct derived_function *derived_rules_functions(const struct derived_rules *r)
{
	return r->functions;
}

/* false: no steps are left. */
static bool take_steps(struct derived_rules *r, uint64_t nr)
{
	r->steps_left -= nr < r->steps_left ? nr : r->steps_left;
	return r->steps_left;
}

static void push(struct derived_rules *r, uint32_t number)
{
	r->queue = xgrow(r->queue, &r->queue_capacity, r->nr_queue + 1, sizeof(*r->queue));
	r->queue[r->nr_queue++] = number;
}

/* ---- pass 1: find the blocks */

static void add_block(struct derived_rules *r, uint32_t start)
{
	r->map.bytes[start] |= BYTE_LEADER | BYTE_OWN;
	r->blocks = xgrow(r->blocks, &r->blocks_capacity, r->nr_blocks + 1, sizeof(*r->blocks));
	r->blocks[r->nr_blocks++] = (struct block){ .start = start };
	push(r, start);
}

static bool reach(struct derived_rules *r, int64_t target)
{
	uint8_t byte;

	if (!text_marks_in_reach(&r->map, target))
		return text_marks_reach_other(&r->map, target);
	byte = r->map.bytes[target];
	if (target != r->map.entry &&
	    ((byte & BYTE_ENTRY) || ((byte & BYTE_BEGIN) && !(byte & BYTE_OWN))))
		return text_marks_reach_other(&r->map, target);
	if (byte & BYTE_INSIDE)
		return false;
	if (!(byte & BYTE_LEADER) || !(byte & BYTE_OWN))
		add_block(r, (uint32_t)target);
	return true;
}

/* Is it known where execution continues after the instruction? */
static bool is_followed(const struct derived_rules *r, const struct instruction *in)
{
	if (in->kind == INSTRUCTION_CALL && !in->value) /* pushes its pc, to read it */
		return false;
	if (instruction_is_call(in) && r->map.guessed) /* it may not return */
		return false;
	return in->kind != INSTRUCTION_BAD && in->kind != INSTRUCTION_JUMP_INDIRECT;
}

/* Follows the code from a block's start until it ends or reaches code that was followed. */
static bool discover(struct derived_rules *r, uint32_t at)
{
	for (;;) {
		struct instruction in;

		if (!text_marks_in_reach(&r->map, at))
			return false;
		if (text_marks_is_own(&r->map, at))
			return true;
		if ((r->map.bytes[at] & BYTE_TAKEN) ||
		    ((r->map.bytes[at] & BYTE_ENTRY) && at != r->map.entry))
			return false;
		in = text_marks_decode(&r->map, at);
		if (!is_followed(r, &in) || !text_marks_take(&r->map, at, &in))
			return false;
		if (instruction_is_branch(&in) && !reach(r, instruction_target(&in, at)))
			return false;
		if (instruction_ends_block(&in))
			return true;
		at += in.length;
	}
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool discover_all(struct derived_rules *r)
{
	bool good = true;

	r->nr_queue = r->nr_blocks = 0;
	add_block(r, r->map.entry);
	while (r->nr_queue && good)
		good = discover(r, r->queue[--r->nr_queue]);
	qsort(r->blocks, r->nr_blocks, sizeof(*r->blocks), compare_blocks);
	return good;
}

/* ---- pass 2: the frame at each block */

static struct block *find_block(struct derived_rules *r, int64_t start)
{
	struct block key = { .start = (uint32_t)start };

	return bsearch(&key, r->blocks, r->nr_blocks, sizeof(key), compare_blocks);
}

static bool meet(struct derived_rules *r, int64_t target, const struct abstract_frame *state)
{
	struct block *block;
	uint32_t index;

	if (!text_marks_is_own(&r->map, target)) { /* another function begins there */
		r->nr_exits++;
		return abstract_frame_is_bare(state);
	}
	block = find_block(r, target);
	if (!block)
		return false;
	if (!block->known) {
		block->state = *state;
		block->known = true;
	} else if (!abstract_frame_meet(&block->state, state)) {
		return true;
	}
	index = (uint32_t)(block - r->blocks);
	if (!block->queued)
		push(r, index);
	block->queued = true;
	return true;
}

/* Follows one block. false: this is not a function, or one that cannot be understood. */
static bool follow(struct derived_rules *r, uint32_t at, struct abstract_frame state)
{
	while (take_steps(r, 1)) {
		struct instruction in = text_marks_decode(&r->map, at);

		if (in.kind == INSTRUCTION_NOP) {
			at += in.length;
			if (r->map.bytes[at] & BYTE_LEADER)
				return meet(r, at, &state);
			continue;
		}
		if (in.kind == INSTRUCTION_RET) {
			r->nr_exits++;
			return abstract_frame_is_bare(&state);
		}
		if (in.kind == INSTRUCTION_STOP)
			return true;
		if (instruction_is_branch(&in)) {
			if (!abstract_frame_step(&state, &in) ||
			    !meet(r, instruction_target(&in, at), &state))
				return false;
			if (in.kind == INSTRUCTION_JUMP)
				return true;
		} else if (!abstract_frame_step(&state, &in)) {
			return false;
		}
		at += in.length;
		if (r->map.bytes[at] & BYTE_LEADER)
			return meet(r, at, &state);
	}
	return false;
}

static bool follow_all(struct derived_rules *r)
{
	struct abstract_frame bare;

	abstract_frame_init(&bare);
	r->nr_exits = 0;
	r->nr_queue = 0;
	if (!meet(r, r->map.entry, &bare))
		return false;
	while (r->nr_queue) {
		struct block *block = &r->blocks[r->queue[--r->nr_queue]];

		block->queued = false;
		if (!follow(r, block->start, block->state))
			return false;
	}
	return r->nr_exits > 0;
}

/* ---- pass 3: find the code that can reach an exit */

static bool can_leave(struct derived_rules *r, int64_t target)
{
	return !text_marks_is_own(&r->map, target) || find_block(r, target)->leaves;
}

/* Looks at one block again. true: more of it turned out to reach an exit. */
static bool find_leaves(struct derived_rules *r, struct block *block)
{
	uint32_t at = block->start, leaves = 0;

	while (take_steps(r, 1)) {
		struct instruction in = text_marks_decode(&r->map, at);
		uint32_t next = at + in.length;

		if (in.kind == INSTRUCTION_RET ||
		    (instruction_is_branch(&in) && can_leave(r, instruction_target(&in, at))))
			leaves = next;
		at = next;
		if (instruction_ends_block(&in))
			break;
		if (r->map.bytes[at] & BYTE_LEADER) {
			if (can_leave(r, at))
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
 * return. Code that reaches one had the right rsp there. false: no steps are left.
 */
static bool find_all_leaves(struct derived_rules *r)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = r->nr_blocks; i-- > 0;)
			more |= find_leaves(r, &r->blocks[i]);
	}
	return r->steps_left;
}

/* ---- pass 4: the rules */

static bool add_rule(struct derived_rules *r, uint32_t start, uint32_t end,
		     const struct abstract_frame *state)
{
	struct derived_rule *last = r->nr_rules > r->first_rule ? &r->rules[r->nr_rules - 1] : NULL;
	struct walk_rule rule;

	if (!abstract_frame_rule(state, &rule))
		return false;
	if (last && last->end == start && !memcmp(&last->rule, &rule, sizeof(rule))) {
		last->end = end;
		return true;
	}
	r->rules = xgrow(r->rules, &r->rules_capacity, r->nr_rules + 1, sizeof(*r->rules));
	r->rules[r->nr_rules++] = (struct derived_rule){ start, end, rule };
	return true;
}

/*
 * Adds a block's rules up to its last exit. A call keeps the rule before it for its first byte,
 * then takes that of its return address: walks look up return addresses one byte early.
 */
static bool add_block_rules(struct derived_rules *r, const struct block *block)
{
	struct abstract_frame state = block->state;
	uint32_t at = block->start;

	while (at < block->leaves) {
		struct instruction in = text_marks_decode(&r->map, at);
		bool call = instruction_is_call(&in);
		uint32_t end = at + in.length;

		if (abstract_frame_is_bare(&state))
			r->map.bytes[at] |= BYTE_BARE;
		while (r->map.plain[at] && r->map.plain[end] && end < block->leaves)
			end += r->map.plain[end];
		if (!add_rule(r, at, call ? at + 1 : end, &state))
			return false;
		if (instruction_ends_block(&in))
			return true;
		if (!abstract_frame_step(&state, &in) ||
		    (call && !add_rule(r, at + 1, end, &state)))
			return false;
		at = end;
	}
	return true;
}

static bool add_rules(struct derived_rules *r)
{
	for (size_t i = 0; i < r->nr_blocks; i++) {
		if (!r->blocks[i].known || !add_block_rules(r, &r->blocks[i]))
			return false;
	}
	return true;
}

static void add_function(struct derived_rules *r)
{
	r->functions = xgrow(r->functions, &r->functions_capacity, r->nr_functions + 1,
			     sizeof(*r->functions));
	r->functions[r->nr_functions++] = (struct derived_function){ r->map.entry, r->map.end };
}

/* Looks at the function that may begin there. true: it has rules. */
static bool look_at(struct derived_rules *r, uint32_t entry)
{
	bool good;

	r->map.entry = r->map.end = entry;
	r->first_rule = r->nr_rules;
	r->map.guessed = !(r->map.bytes[entry] & BYTE_ENTRY);
	good = discover_all(r) && follow_all(r) && find_all_leaves(r) && add_rules(r);
	if (good)
		add_function(r);
	else
		r->nr_rules = r->first_rule;
	for (size_t i = 0; i < r->nr_blocks; i++) {
		uint8_t *byte = &r->map.bytes[r->blocks[i].start];

		if (!(*byte & BYTE_BEGIN)) /* found but not reached */
			*byte &= (uint8_t) ~(BYTE_LEADER | BYTE_OWN);
	}
	text_marks_disown(&r->map, good);
	take_steps(r, r->map.end - entry);
	return good;
}

/*
 * Where a function with rules and the padding after it end, the next one may begin. After a
 * function without rules may come more of it, so nothing is guessed there.
 */
static void guess_functions(struct derived_rules *r, uint32_t at)
{
	uint32_t length;

	while (at < r->map.text.size && !r->map.bytes[at] && r->steps_left) {
		if (text_marks_is_padding(&r->map, at, &length)) {
			at += length;
			continue;
		}
		if (at % ALIGNMENT || !look_at(r, at))
			return;
		at = r->map.end;
	}
}

void derived_rules_find(struct derived_rules *r)
{
	for (uint32_t at = 0; at < r->map.text.size && r->steps_left; at++) {
		if ((r->map.bytes[at] & (BYTE_ENTRY | BYTE_TAKEN)) == BYTE_ENTRY)
			look_at(r, at);
	}
	guess_functions(r, 0);
	for (uint32_t at = 1; at < r->map.text.size && r->steps_left; at++) {
		if (!r->map.bytes[at] && (r->map.bytes[at - 1] & BYTE_GOOD))
			guess_functions(r, at);
	}
}
