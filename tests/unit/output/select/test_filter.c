/*
 * Compares filters with random rules on 10 000 random profiles with an oracle that works on lists
 * of names.
 */
#include "tests/unit/unit.h"

#include <errno.h>

#include "output/select/filter.h"
#include "tests/unit/random_profile.h"

/* Rules, and their meaning without regular expressions. */
struct choice {
	const char *text;
	bool (*fits)(const struct plain_function *f);
};

static bool is_f(const struct plain_function *f)
{
	return !strcmp(f->name, "f") || !strcmp(f->name, "F");
}

static bool is_capital_f(const struct plain_function *f)
{
	return strchr(f->name, 'F') != NULL;
}

static bool has_part(const struct plain_function *f)
{
	return strstr(f->name, ".part") != NULL;
}

static bool is_in_b(const struct plain_function *f)
{
	return !strcmp(f->module, "/lib/b.so");
}

static bool is_kernel(const struct plain_function *f)
{
	return f->kind == FUNCTION_KERNEL;
}

static bool is_g_or_fault(const struct plain_function *f)
{
	return !strcmp(f->name, "g") || !strcmp(f->name, "page_fault");
}

static bool is_nothing(const struct plain_function *f)
{
	(void)f;
	return false;
}

static const struct choice choices[] = {
	{ "^f$", is_f },
	{ "F", is_capital_f },
	{ "\\.part", has_part },
	{ "mod:^b\\.so$", is_in_b },
	{ "kind:^kernel$", is_kernel },
	{ "^(g|page_fault)$", is_g_or_fault },
	{ "no such function", is_nothing },
};
#define NR_CHOICES (sizeof(choices) / sizeof(*choices))
#define NR_RULES (FILTER_SHOW_FROM + 1)

static bool any_fits(const struct plain_sample *s, const struct choice *choice)
{
	for (unsigned i = 0; i < s->nr; i++)
		if (choice->fits(&plain_functions[s->functions[i]]))
			return true;
	return false;
}

/* Applies one rule to a sample. */
static bool apply_rule(struct plain_sample *s, enum filter_rule rule, const struct choice *choice)
{
	unsigned kept = 0, i = 0;

	switch (rule) {
	case FILTER_FOCUS: return any_fits(s, choice);
	case FILTER_IGNORE: return !any_fits(s, choice);
	case FILTER_SHOW_FROM:
		if (!any_fits(s, choice))
			return false;
		for (; !choice->fits(&plain_functions[s->functions[i]]); i++)
			if (plain_functions[s->functions[i]].kind == FUNCTION_MARKER)
				s->functions[kept++] = s->functions[i];
		memmove(s->functions + kept, s->functions + i, s->nr - i);
		s->nr -= i - kept;
		return true;
	case FILTER_HIDE:
		for (; i < s->nr; i++)
			if (!choice->fits(&plain_functions[s->functions[i]]))
				s->functions[kept++] = s->functions[i];
		s->nr = kept;
		return true;
	}
	return false;
}

static void a_random_filter_is_what_brute_force_says(void)
{
	static const enum filter_rule order[] = { FILTER_FOCUS, FILTER_IGNORE, FILTER_SHOW_FROM,
						  FILTER_HIDE };
	static struct plain_profile plain;
	static struct plain_lines want;
	struct profile *p = plain_make(&plain, rng(2));
	struct filter *f = filter_new();
	const struct choice *of[NR_RULES] = { NULL };
	uint64_t from = rng(3) ? 0 : rng(100000), left_out = 0, nr_left_out = 0;
	uint64_t to = rng(3) ? UINT64_MAX : from + rng(100000);
	const char *lacks;
	char why[100];

	for (int r = 0; r < (int)NR_RULES; r++) {
		if (rng(3))
			continue;
		of[r] = &choices[rng(NR_CHOICES)];
		assert_int_equal(filter_add_rule(f, r, of[r]->text, why, sizeof(why)), 0);
	}
	filter_set_from(f, (struct moment){ .kind = MOMENT_AFTER_START, .ns = from });
	filter_set_to(f, (struct moment){ .kind = MOMENT_AFTER_START, .ns = to });
	want.nr = 0;
	for (unsigned i = 0; i < plain.nr; i++) {
		struct plain_sample s = plain.samples[i];
		bool kept = s.time_ns - 1000 >= from && s.time_ns - 1000 < to;

		for (unsigned r = 0; r < NR_RULES && kept; r++)
			if (of[order[r]])
				kept = apply_rule(&s, order[r], of[order[r]]);
		if (kept)
			plain_lines_add_sample(&want, &s);
		left_out += kept ? 0 : s.weight;
		nr_left_out += !kept;
	}
	assert_int_equal(filter_apply(f, p, &lacks), 0);
	filter_apply_to_stacks(f, p);
	plain_assert_profile(p, &want);
	assert_int_equal(p->filtered.weight[COLUMN_CPU], left_out);
	assert_int_equal(p->filtered.nr_samples[COLUMN_CPU], nr_left_out);
	filter_free(f);
	profile_free(p);
}

static void random_filters_are_what_brute_force_says(void **state)
{
	(void)state;
	for (int i = 0; i < 10000; i++)
		a_random_filter_is_what_brute_force_says();
}

static void threads_and_processes_are_chosen_by_number_and_name(void **state)
{
	static struct plain_profile plain;
	static struct plain_lines want;
	char why[100];

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct profile *p = plain_make(&plain, true);
		struct filter *f = filter_new();
		const char *lacks;

		assert_int_equal(filter_add_thread(f, "100", why, sizeof(why)), 0);
		assert_int_equal(filter_add_thread(f, "^work", why, sizeof(why)), 0);
		assert_int_equal(filter_add_comm(f, "n|k", why, sizeof(why)), 0);
		filter_add_pid(f, 10);
		filter_add_pid(f, 4000000000u);
		want.nr = 0;
		for (unsigned j = 0; j < plain.nr; j++) {
			const struct plain_sample *s = &plain.samples[j];

			if (s->pid == 10 && strcmp(s->comm, "gc \"2\"") &&
			    (s->tid == 100 || !strcmp(s->comm, "worker")))
				plain_lines_add_sample(&want, s);
		}
		assert_int_equal(filter_apply(f, p, &lacks), 0);
		filter_apply_to_stacks(f, p);
		plain_assert_profile(p, &want);
		filter_free(f);
		profile_free(p);
	}
}

static void what_is_not_there_cannot_be_filtered_by(void **state)
{
	struct profile *p = profile_new();
	uint32_t frame = profile_named_frame(p, "f", 1, FUNCTION_NATIVE);
	struct filter *times = filter_new(), *threads = filter_new();
	const char *lacks = "";

	(void)state;
	profile_add_sample(p, &(struct profile_sample){
				      .weight = 1,
				      .thread = PROFILE_NONE,
				      .stack = profile_stack(p, &frame, 1),
				      .column = COLUMN_COUNT,
			      });
	filter_set_to(times, (struct moment){ .kind = MOMENT_AFTER_START, .ns = 5 });
	assert_int_equal(filter_apply(times, p, &lacks), -ENODATA);
	assert_string_equal(lacks, "times");
	filter_add_pid(threads, 1);
	assert_int_equal(filter_apply(threads, p, &lacks), -ENODATA);
	assert_string_equal(lacks, "threads");
	assert_int_equal(p->nr_samples, 1);
	filter_free(times);
	filter_free(threads);
	profile_free(p);
}

static void a_wrong_expression_says_why(void **state)
{
	struct filter *f = filter_new();
	char why[100] = "";

	(void)state;
	assert_int_equal(filter_add_rule(f, FILTER_FOCUS, "a(", why, sizeof(why)), -EINVAL);
	assert_true(strlen(why) > 5);
	assert_int_equal(filter_add_thread(f, "[", why, sizeof(why)), -EINVAL);
	for (int i = 0; i < 64; i++)
		assert_int_equal(filter_add_rule(f, FILTER_HIDE, "x", why, sizeof(why)), 0);
	assert_int_equal(filter_add_rule(f, FILTER_HIDE, "x", why, sizeof(why)), -E2BIG);
	filter_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_filters_are_what_brute_force_says),
		cmocka_unit_test(threads_and_processes_are_chosen_by_number_and_name),
		cmocka_unit_test(what_is_not_there_cannot_be_filtered_by),
		cmocka_unit_test(a_wrong_expression_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
