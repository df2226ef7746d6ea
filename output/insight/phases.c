/*
 * Reads the rules of phases, finds once for each function which rule matches it, and has the phases
 * added up as groups of functions (output/insight/groups.h).
 */
#include "output/insight/phases.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "output/select/pattern.h"
#include "output/tree/tree.h"

enum { MAX_RULES = 4096, MAX_SIZE = 1 << 20 };

const char phases_default[] =
	"garbage collection => ^(gc_collect_[a-z_]+|_?PyGC_Collect[A-Za-z]*|_Py_RunGC)(\\.|$)\n"
	"import => ^_find_and_load \\((<frozen importlib\\._bootstrap>|_bootstrap\\.py):\n"
	"data loading => ^([^ (]*\\.)?__next__ \\(dataloader\\.py:\n"
	"data loading => ^([^ (]*\\.)?(_worker_loop|_pin_memory_loop|default_collate) \\(\n"
	"checkpoint => ^(save|load) \\(serialization\\.py:\n"
	"checkpoint => ^([^ (]*\\.)?(save_checkpoint|load_checkpoint|save_pretrained) \\(\n"
	"validation => ^([^ (]*\\.)?(validation_step|eval_step|test_step|predict_step) \\(\n"
	"backward => ^([^ (]*\\.)?backward \\((_?tensor|__init__)\\.py:\n"
	"backward => ^torch::autograd::Engine::\n"
	"optimizer step = file:(^|/)torch/optim/\n"
	"optimizer step = ^([^ (]*\\.)?step \\((optimizer|sgd|adamw?|rmsprop|adagrad|lbfgs)\\.py:\n"
	"optimizer step = ^clip_grad_(norm|value)_ \\(\n"
	"forward = ^([^ (]*\\.)?forward \\(\n"
	"forward = ^([^ (]*\\.)?(_wrapped_call_impl|_call_impl) \\(module\\.py:\n"
	"training step = ^([^ (]*\\.)?(training_step|train_step|train_batch) \\(\n";

struct rule {
	uint32_t phase; /* index + 1, or'ed with GROUP_KEEPS for => */
	struct pattern pattern;
};

struct phase_rules {
	struct rule *rules;
	char **phases; /* names */
	size_t nr_rules, nr_phases, rules_capacity, phases_capacity;
};

void phase_rules_free(struct phase_rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_rules; i++)
		pattern_fini(&r->rules[i].pattern);
	for (size_t i = 0; i < r->nr_phases; i++)
		free(r->phases[i]);
	free(r->rules);
	free(r->phases);
	free(r);
}

static char *trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--)
		;
	s[n] = '\0';
	return s;
}

static uint32_t phase_of(struct phase_rules *r, const char *name)
{
	for (size_t i = 0; i < r->nr_phases; i++)
		if (!strcmp(r->phases[i], name))
			return (uint32_t)i + 1;
	r->phases = xgrow(r->phases, &r->phases_capacity, r->nr_phases + 1, sizeof(*r->phases));
	r->phases[r->nr_phases++] = xstrdup(name);
	return (uint32_t)r->nr_phases;
}

/* Parses a line that ends with NUL. */
static int add_line(struct phase_rules *r, char *line, char *why, size_t why_size)
{
	char *equals, *name, *pattern;
	struct rule *rule;
	bool keeps;
	int err;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals) {
		snprintf(why, why_size, "it is not a rule: PHASE = PATTERN or PHASE => PATTERN");
		return -EINVAL;
	}
	keeps = equals[1] == '>';
	*equals = '\0';
	name = trim(line);
	pattern = trim(equals + 1 + keeps);
	if (!*name || !*pattern) {
		snprintf(why, why_size, "its %s is empty", *name ? "pattern" : "phase");
		return -EINVAL;
	}
	if (r->nr_rules == MAX_RULES) {
		snprintf(why, why_size, "more than %d rules", MAX_RULES);
		return -EINVAL;
	}
	r->rules = xgrow(r->rules, &r->rules_capacity, r->nr_rules + 1, sizeof(*r->rules));
	rule = &r->rules[r->nr_rules];
	err = pattern_init(&rule->pattern, pattern, why, why_size);
	if (err)
		return err;
	rule->phase = phase_of(r, name) | (keeps ? GROUP_KEEPS : 0);
	r->nr_rules++;
	return 0;
}

int phase_rules_new(const char *text, size_t size, struct phase_rules **ret_rules, char *why,
		    size_t why_size)
{
	struct phase_rules *r = xcalloc(1, sizeof(*r));
	size_t number = 1;
	int err = size > MAX_SIZE ? -EINVAL : 0;

	if (err)
		snprintf(why, why_size, "it is larger than %d bytes", MAX_SIZE);
	for (size_t at = 0; at < size && !err; number++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t n = end ? (size_t)(end - text) - at : size - at;
		char *line = xasprintf("%.*s", (int)n, text + at), reason[256];

		err = add_line(r, line, reason, sizeof(reason));
		if (err)
			snprintf(why, why_size, "line %zu: %s", number, reason);
		free(line);
		at += n + 1;
	}
	if (!err && !r->nr_rules) {
		snprintf(why, why_size, "it holds no rules");
		err = -ENODATA;
	}
	if (err)
		phase_rules_free(r);
	else
		*ret_rules = r;
	return err;
}

static uint32_t *phases_of(const struct tree *tree, const struct phase_rules *r)
{
	uint32_t *of = xcalloc(tree->functions.nr, sizeof(*of));

	/*
	 * [0] is the root; threads are left out, because their names are not functions of the
	 * program.
	 */
	for (size_t i = 1; i < tree->functions.nr; i++) {
		const struct tree_function *f = &tree->functions.list[i];

		for (size_t k = 0; k < r->nr_rules && !of[i] && f->kind != FUNCTION_THREAD; k++)
			if (pattern_fits(&r->rules[k].pattern, f))
				of[i] = r->rules[k].phase;
	}
	return of;
}

static int compare_sums(const void *a, const void *b, void *context)
{
	const struct group_sum *sums = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return ORDER(sums[k].self, sums[i].self) ?: ORDER(i, k);
}

void phases_init(struct phases *phases, const struct tree *tree, const struct phase_rules *rules)
{
	uint32_t nr = (uint32_t)rules->nr_phases + 1, *of = phases_of(tree, rules);
	uint32_t *order = xcalloc(nr, sizeof(*order));
	struct group_sum *sums = groups_add_up(tree, of, nr);

	for (uint32_t i = 1; i < nr; i++)
		order[i] = i;
	qsort_r(order + 1, nr - 1, sizeof(*order), compare_sums, sums);
	*phases = (struct phases){ .list = xcalloc(nr, sizeof(*phases->list)) };
	for (uint32_t i = 1; i < nr; i++)
		if (sums[order[i]].total)
			phases->list[phases->nr++] = (struct phase){
				.name = rules->phases[order[i] - 1],
				.sum = sums[order[i]],
			};
	/* A stack outside of all phases holds none of them: its total is its self. */
	sums[GROUP_NONE].total = sums[GROUP_NONE].self;
	phases->list[phases->nr++] = (struct phase){ .name = "other", .sum = sums[GROUP_NONE] };
	free(order);
	free(sums);
	free(of);
}

void phases_fini(struct phases *phases)
{
	free(phases->list);
	*phases = (struct phases){ 0 };
}
