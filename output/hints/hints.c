/*
 * Finds the hints that the samples prove. Each function gets its marks once, and each stack the
 * rules that match it and the functions of the program to name; then samples are only added up.
 */
#include "output/hints/hints.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "output/hints/gpu_hints.h"
#include "output/hints/hint_evidence.h"
#include "output/hints/hint_rules.h"
#include "output/tree/program_function.h"
#include "output/tree/naming.h"
#include "output/text/number.h"
#include "output/select/pattern.h"

enum { MAX_RULES = 16 };

struct finder {
	const struct profile *p;
	struct tree_functions names;
	uint32_t *marks;	      /* by function */
	uint32_t *rules;	      /* by stack: a bit for each rule that matches */
	uint32_t (*where)[MAX_RULES]; /* by stack and rule: the function to name, 0 = none */
	uint32_t *innermost;	      /* by stack: the innermost function of the program */
	uint32_t *stack_marks;	      /* by stack: those of all its functions */
	uint32_t *functions;	      /* of the current stack, root first */
	size_t nr_functions, capacity;
};

/* The kernel has functions of the same names (do_wait, futex_wait) that are something else. */
static bool may_have_mark(const struct tree_function *f, uint32_t mark)
{
	return f->kind != FUNCTION_THREAD &&
	       (f->kind != FUNCTION_KERNEL || mark == HINT_MARK_SYSTEM);
}

static void mark_functions(struct finder *f)
{
	f->marks = xcalloc(f->names.nr, sizeof(*f->marks));
	for (const struct hint_mark *m = hint_marks; m->bit; m++) {
		struct pattern pattern;
		char why[128];

		if (pattern_init(&pattern, m->pattern, why, sizeof(why)))
			continue; /* a test compiles every pattern */
		for (size_t i = 1; i < f->names.nr; i++)
			if (may_have_mark(&f->names.list[i], m->bit) &&
			    pattern_fits(&pattern, &f->names.list[i]))
				f->marks[i] |= m->bit;
		pattern_fini(&pattern);
	}
}

static void list_functions(struct finder *f, const struct profile_stack *s)
{
	struct naming_walk walk = { .p = f->p, .names = &f->names, .stack = s };

	f->nr_functions = 0;
	while (naming_next(&walk)) {
		f->functions = xgrow(f->functions, &f->capacity, f->nr_functions + 1,
				     sizeof(*f->functions));
		f->functions[f->nr_functions++] = FRAME_FUNCTION(walk.code);
	}
}

/* Returns the first function from `from` on that has one of these marks, or nr_functions. */
static size_t find_mark(const struct finder *f, size_t from, uint32_t marks)
{
	while (from < f->nr_functions && !(f->marks[f->functions[from]] & marks))
		from++;
	return from;
}

/* Finds the innermost function outside the kernel: the kernel works for it. */
static size_t find_leaf(const struct finder *f)
{
	size_t i = f->nr_functions;

	while (i && f->marks[f->functions[i - 1]] & HINT_MARK_SYSTEM)
		i--;
	return i ? i - 1 : f->nr_functions;
}

/* Returns where the rule's inner function is on the stack, or nr_functions. */
static size_t find_rule(const struct finder *f, const struct hint_rule *r)
{
	size_t outer = r->outer ? find_mark(f, 0, r->outer) : 0, leaf;

	if (r->without && find_mark(f, 0, r->without) < f->nr_functions)
		return f->nr_functions;
	if (!r->is_leaf || outer == f->nr_functions)
		return find_mark(f, outer, r->inner);
	leaf = find_leaf(f);
	/* The mark may also be on a function below the leaf, one that only enters the kernel. */
	for (size_t i = leaf; i < f->nr_functions; i++)
		if (f->marks[f->functions[i]] & r->inner)
			return i;
	return f->nr_functions;
}

/* Finds the nearest Python function below which `at` runs: of the program, else of a library. */
static uint32_t find_where(const struct finder *f, size_t at)
{
	uint32_t nearest = 0;

	while (at--) {
		const struct tree_function *t = &f->names.list[f->functions[at]];

		if (t->kind != FUNCTION_PYTHON)
			continue;
		nearest = nearest ? nearest : f->functions[at];
		if (program_function_is(t))
			return f->functions[at];
	}
	return nearest;
}

static void look_at_stacks(struct finder *f)
{
	const struct profile *p = f->p;
	bool *used = xcalloc(p->nr_stacks + 1, sizeof(*used));

	f->rules = xcalloc(p->nr_stacks + 1, sizeof(*f->rules));
	f->where = xcalloc(p->nr_stacks + 1, sizeof(*f->where));
	f->innermost = xcalloc(p->nr_stacks + 1, sizeof(*f->innermost));
	f->stack_marks = xcalloc(p->nr_stacks + 1, sizeof(*f->stack_marks));
	for (size_t i = 0; i < p->nr_samples; i++)
		used[p->samples[i].stack] = true;
	for (size_t i = 0; i < p->nr_stacks; i++) {
		if (!used[i])
			continue;
		list_functions(f, &p->stacks[i]);
		f->innermost[i] = find_where(f, f->nr_functions);
		for (size_t k = 0; k < f->nr_functions; k++)
			f->stack_marks[i] |= f->marks[f->functions[k]];
		for (int r = 0; hint_rules[r].code; r++) {
			size_t at = find_rule(f, &hint_rules[r]);

			if (at == f->nr_functions)
				continue;
			f->rules[i] |= 1u << r;
			f->where[i][r] = find_where(f, at);
		}
	}
	free(used);
}

static bool fits(const struct finder *f, const struct profile_sample *s, int rule)
{
	return f->rules[s->stack] >> rule & 1;
}

/* By thread: does the rule match any of its stacks? */
static bool *threads_of(const struct finder *f, int rule, enum profile_column column)
{
	const struct profile *p = f->p;
	bool *threads = xcalloc(p->nr_threads + 1, sizeof(*threads));

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->column == column && s->thread != PROFILE_NONE && fits(f, s, rule))
			threads[s->thread] = true;
	}
	return threads;
}

static void find_most(const struct finder *f, struct hint *h, const uint64_t *weights)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < f->names.nr; i++)
		if (weights[i] > weights[most])
			most = i;
	h->where = xstrdup(most ? f->names.list[most].name : "");
	h->where_weight = weights[most];
}

static void add_evidence(const struct finder *f, const struct hint_rule *rule, struct hint *h)
{
	const struct hint_stacks stacks = { f->p, &f->names, f->stack_marks, f->innermost };

	if (rule->names_holder)
		hint_find_holder(&stacks, h);
	if (rule->names_workers)
		hint_find_workers(&stacks, h);
}

static void add_up(const struct finder *f, int rule, struct hint *h)
{
	const struct profile *p = f->p;
	bool *threads = hint_rules[rule].of_threads ? threads_of(f, rule, h->column) : NULL;
	uint64_t *weights = xcalloc(f->names.nr, sizeof(*weights)), last_ns = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint64_t weight = s->column == h->column ? s->weight : 0;
		uint64_t events = column_events(p, h->column, s);

		if (threads && s->thread != PROFILE_NONE && !threads[s->thread])
			continue;
		h->whole += weight;
		h->whole_samples += events;
		if (!fits(f, s, rule))
			continue;
		h->weight += weight;
		h->samples += events;
		if (f->where[s->stack][rule])
			weights[f->where[s->stack][rule]] += weight;
		if (weight && s->time_ns > last_ns)
			last_ns = s->time_ns;
	}
	find_most(f, h, weights);
	add_evidence(f, &hint_rules[rule], h);
	if (hint_rules[rule].says_when && last_ns > p->meta.start_ns)
		h->last_ms = (uint32_t)((last_ns - p->meta.start_ns) / 1000000 + 1);
	free(threads);
	free(weights);
}

/* Is the share that large even at the lower end of its confidence interval? */
static bool is_proven(const struct hint *h)
{
	bool is_exact = column_table[h->column].exact;
	uint64_t margin = is_exact ? 0 : number_margin(h->samples, h->whole_samples);
	double share, low;

	if (h->samples < HINTS_MIN_SAMPLES || !h->whole || !h->whole_samples)
		return false;
	share = (double)h->weight / (double)h->whole;
	low = share - (double)margin / (double)h->whole_samples;
	return low * 100 >= h->min_percent;
}

static void free_words(struct hint *h)
{
	free(h->where);
	free(h->holder);
	free(h->worker_where);
}

static bool is_said(const struct hints *hints, const char *code)
{
	for (size_t i = 0; i < hints->nr; i++)
		if (code && !strcmp(hints->list[i].code, code))
			return true;
	return false;
}

static void ask_rule(const struct finder *f, int rule, struct hints *hints)
{
	const struct hint_rule *r = &hint_rules[rule];

	if (is_said(hints, r->unless))
		return;
	for (int c = 0; c < NR_COLUMNS; c++) {
		struct hint h = { .code = r->code,
				  .title = r->title,
				  .remedy = r->remedy,
				  .column = (enum profile_column)c,
				  .min_percent = r->min_percent };

		if (!((uint64_t)r->columns >> c & 1))
			continue;
		add_up(f, rule, &h);
		if (is_proven(&h)) {
			hints->list[hints->nr++] = h;
			return;
		}
		free_words(&h);
	}
}

static uint32_t where_of_stack(const void *context, uint32_t stack)
{
	const struct finder *f = context;

	return f->innermost[stack];
}

static void add_gpu_hints(struct finder *f, struct hints *hints)
{
	uint64_t *weights = xcalloc(f->names.nr, sizeof(*weights));
	struct hint found[MAX_GPU_HINTS];
	uint32_t where[MAX_GPU_HINTS];
	size_t nr = gpu_hints_find(f->p, where_of_stack, f, weights, (uint32_t)f->names.nr, found,
				   where);

	for (size_t i = 0; i < nr; i++) {
		found[i].where = xstrdup(where[i] ? f->names.list[where[i]].name : "");
		hints->list[hints->nr++] = found[i];
	}
	free(weights);
}

static int by_share(const void *a, const void *b)
{
	const struct hint *x = a, *y = b;
	double s = (double)x->weight / (double)x->whole, t = (double)y->weight / (double)y->whole;

	return ORDER(t, s) ?: strcmp(x->code, y->code);
}

void hints_init(struct hints *hints, const struct profile *p)
{
	struct finder f = { .p = p };

	*hints = (struct hints){ .list = xcalloc(MAX_RULES + MAX_GPU_HINTS, sizeof(*hints->list)) };
	naming_init(&f.names, p);
	mark_functions(&f);
	look_at_stacks(&f);
	for (int r = 0; hint_rules[r].code; r++)
		ask_rule(&f, r, hints);
	add_gpu_hints(&f, hints);
	qsort(hints->list, hints->nr, sizeof(*hints->list), by_share);
	tree_functions_fini(&f.names);
	free(f.marks);
	free(f.rules);
	free(f.where);
	free(f.innermost);
	free(f.stack_marks);
	free(f.functions);
}

void hints_fini(struct hints *hints)
{
	for (size_t i = 0; i < hints->nr; i++)
		free_words(&hints->list[i]);
	free(hints->list);
	*hints = (struct hints){ 0 };
}
