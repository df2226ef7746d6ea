/*
 * Looks at the functions of a text in rounds, the certain ones first. Each round knows more than
 * the one before of which functions return, so functions that were not understood get another try.
 */
#include "sampler/unwind/code/derived_rules.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "sampler/unwind/code/derived_function.h"

#define ALIGNMENT 16u /* of functions whose start is guessed */
#define MAX_ROUNDS 6
/*
 * Hostile code can need a number of steps that grows with the square of its size. Real code needs
 * less than two per byte and round (libtorch_cpu.so, node, Go programs).
 */
#define STEPS_PER_BYTE 64u
#define FIRST_STEPS 4096u
/* oneDNN's kernels need less than 3. Code that needs more may have changed before it is done. */
#define RUNTIME_STEPS_PER_BYTE 8u

struct derived_rules {
	struct function_search search;
	bool runtime;
};

static void set_steps(struct derived_rules *r, uint32_t steps_per_byte)
{
	r->search.steps_left = (uint64_t)r->search.map.text.size * steps_per_byte + FIRST_STEPS;
}

struct derived_rules *derived_rules_new(const struct derived_text *text)
{
	struct derived_rules *r = xcalloc(1, sizeof(*r));

	text_marks_init(&r->search.map, text);
	set_steps(r, STEPS_PER_BYTE);
	return r;
}

void derived_rules_free(struct derived_rules *r)
{
	if (!r)
		return;
	text_marks_fini(&r->search.map);
	free(r->search.rules);
	free(r->search.functions);
	free(r->search.blocks);
	free(r->search.edges);
	free(r->search.queue);
	free(r);
}

void derived_rules_set_runtime(struct derived_rules *r)
{
	set_steps(r, RUNTIME_STEPS_PER_BYTE);
	r->runtime = true;
}

void derived_rules_exclude(struct derived_rules *r, size_t start, size_t end)
{
	for (size_t i = start; i < end && i < r->search.map.text.size; i++)
		r->search.map.bytes[i] |= BYTE_EXCLUDED;
}

void derived_rules_add_entry(struct derived_rules *r, size_t start)
{
	if (start < r->search.map.text.size)
		r->search.map.bytes[start] |= BYTE_ENTRY;
}

void derived_rules_add_hint(struct derived_rules *r, size_t start)
{
	if (start < r->search.map.text.size)
		r->search.map.bytes[start] |= BYTE_HINT;
}

const struct derived_rule *derived_rules_get(const struct derived_rules *r, size_t *ret_nr)
{
	*ret_nr = r->search.nr_rules;
	return r->search.rules;
}

uint32_t derived_rules_nr_functions(const struct derived_rules *r)
{
	return (uint32_t)r->search.nr_functions;
}

const struct derived_function *derived_rules_functions(const struct derived_rules *r)
{
	return r->search.functions;
}

/*
 * Where a function with rules and the padding after it end, the next one may begin. After a
 * function without rules may come more of it, so nothing is guessed there.
 */
static void guess_functions(struct function_search *s, uint32_t at)
{
	uint32_t length;

	while (at < s->map.text.size && !s->map.bytes[at] && s->steps_left) {
		if (text_marks_is_padding(&s->map, at, &length)) {
			at += length;
			continue;
		}
		if (at % ALIGNMENT || !function_search_look(s, at, FUNCTION_GUESSED, EFFORT_ALL))
			return;
		at = s->map.end;
	}
}

/* Looks at the functions that may begin at bytes with a mark. */
static void look_at_marked(struct function_search *s, enum text_mark mark,
			   enum function_trust trust, enum function_effort effort)
{
	for (uint32_t at = 0; at < s->map.text.size && s->steps_left; at++) {
		if ((s->map.bytes[at] & (mark | BYTE_TAKEN)) == mark)
			function_search_look(s, at, trust, effort);
	}
}

/* Repeats until nothing new is found: knowing what a function calls helps to understand it. */
static void look_in_rounds(struct function_search *s, enum function_effort effort)
{
	size_t before;
	int round = 0;

	do {
		before = s->nr_functions;
		look_at_marked(s, BYTE_ENTRY, FUNCTION_SURE, effort);
		look_at_marked(s, BYTE_HINT, FUNCTION_HINTED, effort);
		s->first_round = false;
	} while (s->nr_functions > before && ++round < MAX_ROUNDS);
}

void derived_rules_find(struct derived_rules *r)
{
	struct function_search *s = &r->search;

	if (r->runtime) {
		look_at_marked(s, BYTE_ENTRY, FUNCTION_HINTED, EFFORT_ALL);
	} else {
		s->first_round = true;
		look_in_rounds(s, EFFORT_CERTAIN);
		look_in_rounds(s, EFFORT_CLOSED);
		look_at_marked(s, BYTE_HINT, FUNCTION_LEFT, EFFORT_CLOSED);
		look_in_rounds(s, EFFORT_ALL);
	}
	guess_functions(s, 0);
	for (uint32_t at = 1; at < s->map.text.size && s->steps_left; at++) {
		if (!s->map.bytes[at] &&
		    ((s->map.bytes[at - 1] & BYTE_GOOD) || text_marks_is_excluded(&s->map, at - 1)))
			guess_functions(s, at);
	}
}
