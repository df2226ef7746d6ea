/*
 * Functions as pstats has them: how often they were called, as far as it is known, and by which
 * callers.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/python/pstats.h"
#include "output/tree/tree.h"

static uint32_t frame(struct profile *p, const char *name, enum function_kind kind)
{
	return profile_named_frame(p, name, strlen(name), kind);
}

static void add(struct profile *p, uint64_t weight, const uint32_t *frames, size_t nr)
{
	profile_add_sample(p, &(struct profile_sample){
				      .weight = weight,
				      .thread = PROFILE_NONE,
				      .stack = profile_stack(p, frames, nr),
				      .column = COLUMN_CPU,
			      });
}

/* main calls f, which calls itself once and launches kernels in a range. */
static struct profile *make_profile(void)
{
	struct profile *p = profile_new();
	uint32_t main = frame(p, "main (a.py:1)", FUNCTION_PYTHON);
	uint32_t f = frame(p, "f (a.py:7)", FUNCTION_PYTHON);
	uint32_t range = frame(p, "step", FUNCTION_RANGE);
	uint32_t launch = frame(p, "cuLaunchKernel", FUNCTION_NATIVE);
	uint32_t python = frame(p, "cuMemAlloc (a.py:9)", FUNCTION_PYTHON);

	add(p, 100, (uint32_t[]){ main }, 1);
	add(p, 20, (uint32_t[]){ main, f }, 2);
	add(p, 3, (uint32_t[]){ main, f, f }, 3);
	add(p, 4000, (uint32_t[]){ main, range, launch }, 3);
	add(p, 1, (uint32_t[]){ main, f, f, python }, 4);
	for (uint64_t pid = 1; pid <= 2; pid++) {
		struct fact_gpu_api api = { .pid = pid, .calls = 5 * pid };
		struct fact_range step = { .pid = pid, .id = 1, .depth = 1, .calls = 7 };

		api.name = profile_cstring(p, "cuLaunchKernel");
		facts_put(p, FACT_GPU_API, &api);
		api.name = profile_cstring(p, "cuMemAlloc");
		facts_put(p, FACT_GPU_API, &api);
		step.name = profile_cstring(p, "step");
		step.domain = profile_cstring(p, "");
		facts_put(p, FACT_RANGE, &step);
	}
	return p;
}

static const struct pstats_function *find(const struct pstats *s, const char *name)
{
	for (size_t i = 0; i < s->nr_functions; i++)
		if (!strcmp(s->functions[i].function->name, name))
			return &s->functions[i];
	fail_msg("no function %s", name);
	return NULL;
}

static uint64_t total_from(const struct pstats *s, const char *callee, const char *caller)
{
	const struct pstats_function *f = find(s, callee);
	uint32_t from = (uint32_t)(find(s, caller) - s->functions);

	for (uint32_t i = 0; i < f->nr_edges; i++)
		if (s->edges[f->first_edge + i].caller == from)
			return s->edges[f->first_edge + i].total;
	return 0;
}

static void check(const struct profile *p, bool is_whole)
{
	const struct tree_opts opts = { 0 };
	struct pstats s;
	struct tree *t;

	assert_int_equal(tree_new(p, &opts, &t), 0);
	pstats_init(&s, p, t);
	assert_int_equal(s.nr_functions, 5);
	assert_int_equal(find(&s, "main (a.py:1)")->total, 4124);
	assert_int_equal(find(&s, "main (a.py:1)")->self, 100);
	assert_int_equal(find(&s, "f (a.py:7)")->total, 24);
	assert_int_equal(find(&s, "f (a.py:7)")->self, 23);
	assert_int_equal(total_from(&s, "f (a.py:7)", "main (a.py:1)"), 24);
	assert_int_equal(total_from(&s, "f (a.py:7)", "f (a.py:7)"), 4);
	assert_int_equal(total_from(&s, "main (a.py:1)", "f (a.py:7)"), 0);
	assert_int_equal(find(&s, "cuLaunchKernel")->calls_known, is_whole);
	assert_int_equal(find(&s, "cuLaunchKernel")->calls, is_whole ? 15 : 0);
	assert_int_equal(find(&s, "step")->calls, is_whole ? 14 : 0);
	/* Neither sampled nor counted, and not confused with a function that is. */
	assert_false(find(&s, "f (a.py:7)")->calls_known);
	assert_false(find(&s, "cuMemAlloc (a.py:9)")->calls_known);
	pstats_fini(&s);
	tree_free(t);
}

static void calls_are_known_where_they_were_counted(void **state)
{
	struct profile *p = make_profile();

	(void)state;
	check(p, true);
	p->filtered.nr_samples[COLUMN_CPU] = 1;
	check(p, false);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_known_where_they_were_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
