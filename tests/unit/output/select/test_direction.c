/*
 * Compares dimensions and directions of 10 000 random profiles with brute force over lists of
 * names.
 */
#include "tests/unit/unit.h"

#include "output/select/dimension.h"
#include "output/select/direction.h"
#include "output/select/pattern.h"
#include "tests/unit/random_profile.h"

/* A sample as a line: the names that `name` gives for its functions, in the order of `path`. */
static void add_line(struct plain_lines *l, const char *const *names, unsigned nr, uint64_t weight)
{
	char path[PLAIN_TEXT] = "";
	size_t at = 0;

	for (unsigned i = 0; i < nr; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%s;", names[i]);
	plain_lines_add(l, path, weight, 1);
}

static const char *base(const char *module)
{
	const char *slash = strrchr(module, '/');

	return slash ? slash + 1 : module;
}

static const char *with_module(const struct plain_function *f)
{
	static char names[NR_PLAIN_FUNCTIONS][64];
	char *name = names[f - plain_functions];

	snprintf(name, sizeof(names[0]), "%s@%s", f->name, base(f->module));
	return name;
}

static unsigned names_of(const struct plain_sample *s, const char **names)
{
	for (unsigned i = 0; i < s->nr; i++)
		names[i] = with_module(&plain_functions[s->functions[i]]);
	return s->nr;
}

static void reverse(const char **names, unsigned nr)
{
	for (unsigned i = 0; i < nr / 2; i++) {
		const char *name = names[i];

		names[i] = names[nr - 1 - i];
		names[nr - 1 - i] = name;
	}
}

/* The first function whose name contains 'g', as the pattern "g" finds it, or nr. */
static unsigned find_g(const struct plain_sample *s)
{
	unsigned i = 0;

	while (i < s->nr && !strchr(plain_functions[s->functions[i]].name, 'g'))
		i++;
	return i;
}

enum { INVERT, CALLEES, CALLERS, MODULE, KIND, NR_TURNS };

static const char *const kinds[] = { "native", "kernel", "jit" };

/* The expected sample; false if it is removed. */
static bool turned(const struct plain_sample *s, int turn, const char **names, unsigned *nr)
{
	unsigned at = find_g(s), kept = 0;

	*nr = names_of(s, names);
	switch (turn) {
	case INVERT: reverse(names, *nr); return true;
	case CALLEES:
		memmove(names, names + at, (*nr - at) * sizeof(*names));
		*nr -= at;
		return *nr != 0;
	case CALLERS:
		if (at == *nr)
			return false;
		*nr = at + 1;
		reverse(names, *nr);
		return true;
	}
	for (unsigned i = 0; i < *nr; i++) {
		const struct plain_function *f = &plain_functions[s->functions[i]];
		static char group[NR_PLAIN_FUNCTIONS][64];
		char *name = group[f - plain_functions];

		snprintf(name, sizeof(group[0]), "%s@",
			 turn == MODULE ? base(f->module) : kinds[f->kind]);
		if (!kept || strcmp(names[kept - 1], name))
			names[kept++] = name;
	}
	*nr = kept;
	return true;
}

static void apply(struct profile *p, int turn)
{
	struct pattern g;
	char why[100];

	assert_int_equal(pattern_init(&g, "g", why, sizeof(why)), 0);
	switch (turn) {
	case INVERT: direction_invert(p); break;
	case CALLEES: direction_callees(p, &g); break;
	case CALLERS: direction_callers(p, &g); break;
	case MODULE: dimension_find("module")->apply(p); break;
	case KIND: dimension_find("kind")->apply(p); break;
	}
	pattern_fini(&g);
}

static void stacks_turn_as_brute_force_turns_them(void **state)
{
	static struct plain_profile plain;
	static struct plain_lines want;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct profile *p = plain_make(&plain, false);
		int turn = i % NR_TURNS;

		want.nr = 0;
		for (unsigned j = 0; j < plain.nr; j++) {
			const char *names[PLAIN_DEPTH];
			unsigned nr;

			if (turned(&plain.samples[j], turn, names, &nr))
				add_line(&want, names, nr, plain.samples[j].weight);
		}
		apply(p, turn);
		plain_assert_profile(p, &want);
		profile_free(p);
	}
}

static void lines_are_grouped_by_file_and_number(void **state)
{
	struct profile *p = profile_new();
	struct plain_lines want = { .nr = 0 };
	uint32_t name = profile_cstring(p, "f"), frames[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_location l = {
			.function = profile_function(p,
						     &(struct profile_function){
							     .name = name,
							     .module = PROFILE_NONE,
							     .file = profile_cstring(p, "a.c"),
						     }),
			.line = 3 + i,
		};

		frames[i] = profile_named_frame(p, i ? "x" : "y", 1, FUNCTION_NATIVE);
		profile_set_locations(p, frames[i], &l, 1);
	}
	for (uint32_t i = 0; i < 6; i++)
		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, 1 + i % 2),
					      .column = COLUMN_CPU,
				      });
	dimension_find("line")->apply(p);
	plain_lines_add(&want, "a.c:3@;", 3, 3);
	plain_lines_add(&want, "a.c:3@;a.c:4@;", 3, 3);
	plain_assert_profile(p, &want);
	profile_free(p);
}

static void threads_and_processes_are_one_frame_each(void **state)
{
	static struct plain_profile plain;
	static struct plain_lines want;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct profile *p = plain_make(&plain, true);
		bool process = i % 2;

		want.nr = 0;
		for (unsigned j = 0; j < plain.nr; j++) {
			const struct plain_sample *s = &plain.samples[j];
			char path[PLAIN_TEXT];

			/* No process here has its main thread, so the last thread names it. */
			if (process)
				snprintf(path, sizeof(path), "(pid %u)@;", s->pid);
			else
				snprintf(path, sizeof(path), "%s (tid %u)@;", s->comm, s->tid);
			plain_lines_add(&want, path, s->weight, 1);
		}
		dimension_find(process ? "process" : "thread")->apply(p);
		for (size_t k = 0; process && k < p->nr_functions; k++) {
			const char *pid = strstr(profile_str(p, p->functions[k].name), "(pid");

			if (pid)
				p->functions[k].name = profile_cstring(p, pid);
		}
		plain_assert_profile(p, &want);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_turn_as_brute_force_turns_them),
		cmocka_unit_test(lines_are_grouped_by_file_and_number),
		cmocka_unit_test(threads_and_processes_are_one_frame_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
