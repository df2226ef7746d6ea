/*
 * Adds up the samples in Python's garbage collector by the Python line that was running. Each stack
 * is looked at once; there are few rows.
 */
#include "output/python/gc_times.h"

#include <stdlib.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/intern.h"
#include "output/tree/cpython.h"
#include "output/tree/stack_sums.h"

struct adder {
	const struct profile *p;
	struct gc_times *times;
	size_t capacity;
	struct intern index;
};

/* Functions of the collector. Names that others use too count in an interpreter alone. */
static const char *const anywhere[] = {
	"gc_collect_main",   "gc_collect_with_callback", "gc_collect_generations",
	"gc_collect_region", "gc_collect_young",	 "gc_collect_increment",
	"gc_collect_full",   "gc_collect_internal",	 "PyGC_Collect",
	"_PyGC_Collect",     "_PyGC_CollectNoFail",	 "_PyGC_CollectIfEnabled",
	"_Py_RunGC",
};
static const char *const in_interpreter[] = { "collect", "collect_with_callback",
					      "collect_generations", "gc_collect" };

static bool is_one_of(const char *name, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (cpython_is(name, list[i]))
			return true;
	return false;
}

static bool is_collector(const struct profile *p, const struct profile_frame *frame,
			 const struct profile_function *function)
{
	const char *name = profile_str(p, function->name);

	if (function->kind != FUNCTION_NATIVE)
		return false;
	return is_one_of(name, anywhere, sizeof(anywhere) / sizeof(*anywhere)) ||
	       (cpython_has_frame(p, frame) &&
		is_one_of(name, in_interpreter, sizeof(in_interpreter) / sizeof(*in_interpreter)));
}

/* Is it a frame of an interpreter without a symbol table? */
static bool is_nameless(const struct profile *p, const struct profile_frame *frame)
{
	if (!cpython_has_frame(p, frame))
		return false;
	return !frame->nr_locations ||
	       p->functions[p->locations[frame->first_location].function].kind == FUNCTION_UNKNOWN;
}

static bool has_nameless(const struct profile *p, const struct profile_stack *stack)
{
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		if (is_nameless(p, &p->frames[p->stack_frames[stack->first_frame + i]]))
			return true;
	return false;
}

/*
 * Finds the Python line during which the collector ran. Returns false if it is not on this stack.
 */
static bool find_trigger(const struct profile *p, const struct profile_stack *stack,
			 uint32_t ret_key[2])
{
	ret_key[0] = PROFILE_NONE;
	ret_key[1] = 0;
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		const struct profile_frame *frame =
			&p->frames[p->stack_frames[stack->first_frame + i]];

		for (uint32_t k = 0; k < frame->nr_locations; k++) {
			const struct profile_location *at =
				&p->locations[frame->first_location + k];

			if (is_collector(p, frame, &p->functions[at->function]))
				return true;
			if (p->functions[at->function].kind == FUNCTION_PYTHON) {
				ret_key[0] = at->function;
				ret_key[1] = at->line;
			}
		}
	}
	return false;
}

static bool row_equal(const void *owner, uint32_t id, const void *key)
{
	const struct gc_row *row = &((const struct adder *)owner)->times->rows[id];
	const uint32_t *k = key;

	return row->function == k[0] && row->line == k[1];
}

static void add_stack(struct adder *a, const struct profile_stack *stack, uint64_t value,
		      uint64_t events)
{
	struct gc_times *t = a->times;
	uint32_t key[2], id;

	t->is_stripped = t->is_stripped || has_nameless(a->p, stack);
	if (!find_trigger(a->p, stack, key))
		return;
	id = intern_id(&a->index, (uint32_t)XXH3_64bits(key, sizeof(key)), (uint32_t)t->nr_rows,
		       row_equal, a, key);
	if (id == t->nr_rows) {
		t->rows = xgrow(t->rows, &a->capacity, t->nr_rows + 1, sizeof(*t->rows));
		t->rows[t->nr_rows++] = (struct gc_row){ .function = key[0], .line = key[1] };
	}
	t->rows[id].value += value;
	t->rows[id].events += events;
	t->value += value;
	t->events += events;
}

static int by_value(const void *a, const void *b)
{
	const struct gc_row *x = a, *y = b;

	return ORDER(y->value, x->value) ?: ORDER(x->function, y->function)
	       ?: ORDER(x->line, y->line);
}

void gc_times_init(struct gc_times *times, const struct profile *p, enum profile_column column)
{
	struct stack_sums sums;
	struct adder a = { .p = p, .times = times };

	*times = (struct gc_times){ 0 };
	times->counted = facts_rows(p, FACT_GC, &times->nr_counted);
	stack_sums_init(&sums, p, column);
	for (size_t i = 0; i < p->nr_stacks; i++)
		if (sums.weights[i] || sums.samples[i])
			add_stack(&a, &p->stacks[i], sums.weights[i], sums.samples[i]);
	if (times->nr_rows)
		qsort(times->rows, times->nr_rows, sizeof(*times->rows), by_value);
	intern_fini(&a.index);
	stack_sums_fini(&sums);
}

void gc_times_fini(struct gc_times *times)
{
	free(times->rows);
	*times = (struct gc_times){ 0 };
}
