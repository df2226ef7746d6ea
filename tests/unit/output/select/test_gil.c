/*
 * The GIL in a profile: sums by state, the part of a function that held it, and the filter.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "output/select/filter.h"
#include "output/select/gil.h"
#include "output/tree/ranking.h"
#include "output/tree/tree.h"

/* A sample of one stack: names from the root, each "function" or, in a file, "file:function". */
static void add(struct profile *p, uint64_t weight, enum profile_gil gil, const char *text)
{
	struct profile_sample s = { .weight = weight, .thread = PROFILE_NONE, .gil = gil };
	char copy[200], *rest = copy;
	uint32_t frames[8], nr = 0;

	strcpy(copy, text);
	for (char *name; (name = strsep(&rest, " ")); nr++) {
		char *colon = strchr(name, ':');
		struct profile_module module = { .kind = MODULE_ELF };
		struct profile_location location = { 0 };
		struct profile_function function = { .kind = FUNCTION_NATIVE };

		if (!colon) {
			frames[nr] = profile_named_frame(p, name, strlen(name), FUNCTION_PYTHON);
			continue;
		}
		module.path = profile_string(p, name, (size_t)(colon - name));
		function.module = profile_module(p, &module);
		function.name = function.system_name = profile_cstring(p, colon + 1);
		location.function = profile_function(p, &function);
		frames[nr] = profile_frame(p, function.module, function.name);
		if (colon[1])
			profile_set_locations(p, frames[nr], &location, 1);
	}
	s.stack = profile_stack(p, frames, nr);
	profile_add_sample(p, &s);
}

static struct profile *make(void)
{
	struct profile *p = profile_new();

	add(p, 1, GIL_HELD, "main work");
	add(p, 2, GIL_HELD, "main /usr/lib/libpython3.8.so.1.0:take_gil");
	add(p, 4, GIL_NOT_HELD, "main work /usr/bin/python3.11:take_gil /l/libc.so.6:futex");
	add(p, 8, GIL_NOT_HELD, "main work /usr/bin/python3.11:take_gil.constprop.0");
	add(p, 16, GIL_NOT_HELD, "main /usr/bin/python3.11: /l/libc.so.6:pthread_cond_timedwait");
	add(p, 32, GIL_NOT_HELD, "main /l/libfoo.so:x /l/libc.so.6:pthread_cond_timedwait");
	add(p, 64, GIL_NOT_HELD, "main work /usr/bin/python3.11:drop_gil /l/libc.so.6:unlock");
	add(p, 128, GIL_NOT_HELD, "main work /p/python3.9:PyEval_SaveThread /p/python3.9:drop_gil");
	add(p, 256, GIL_NOT_HELD, "main work /usr/bin/python3.11:take_gilt");
	add(p, 512, GIL_NO_THREAD, "/l/libblas.so:spin");
	add(p, 1024, GIL_UNKNOWN, "/bin/sh:main");
	return p;
}

static void stacks_tell_who_waits_for_it(void **state)
{
	struct profile *p = make();
	struct gil_sums sums;

	(void)state;
	gil_add_up(p, COLUMN_CPU, &sums);
	assert_int_equal(sums.held, 1 + 2);
	assert_int_equal(sums.waiting, 4 + 8 + 16 + 64);
	assert_int_equal(sums.released, 32 + 128 + 256);
	assert_int_equal(sums.no_thread, 512);
	assert_int_equal(sums.unknown, 1024);
	gil_add_up(p, COLUMN_WALL, &sums);
	assert_int_equal(sums.held | sums.waiting | sums.released | sums.no_thread, 0);
	profile_free(p);
}

static const struct ranking_row *row_of(const struct ranking *r, const char *name)
{
	for (uint32_t i = 0; i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].function->name, name))
			return &r->rows[i];
	fail_msg("no function %s", name);
	return NULL;
}

static void functions_know_their_share_of_self_time(void **state)
{
	struct profile *p = make();
	const struct tree_opts opts = { .gil = true };
	struct ranking ranking;
	struct tree *tree;

	(void)state;
	add(p, 3, GIL_NOT_HELD, "other work");
	add(p, 5, GIL_UNKNOWN, "work");
	assert_int_equal(tree_new(p, &opts, &tree), 0);
	ranking_init(&ranking, tree, RANKING_SELF);
	assert_int_equal(row_of(&ranking, "work")->sum.self, 9);
	assert_int_equal(row_of(&ranking, "work")->gil.known, 4);
	assert_int_equal(row_of(&ranking, "work")->gil.held, 1);
	assert_int_equal(row_of(&ranking, "spin")->gil.known, 512);
	assert_int_equal(row_of(&ranking, "spin")->gil.held, 0);
	ranking_fini(&ranking);
	tree_free(tree);
	profile_free(p);
}

static void filter_keeps_holders_only(void **state)
{
	struct profile *p = make(), *silent = profile_new();
	struct filter *filter = filter_new();
	const char *lacks = "";

	(void)state;
	filter_hold_gil(filter);
	assert_int_equal(filter_apply(filter, p, &lacks), 0);
	assert_int_equal(p->nr_samples, 2);
	assert_int_equal(p->filtered.nr_samples[COLUMN_CPU], 9);
	add(silent, 1, GIL_UNKNOWN, "main");
	assert_int_equal(filter_apply(filter, silent, &lacks), -ENODATA);
	assert_string_equal(lacks, "samples that say who holds the GIL");
	assert_int_equal(silent->nr_samples, 1);
	filter_free(filter);
	profile_free(p);
	profile_free(silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_tell_who_waits_for_it),
		cmocka_unit_test(functions_know_their_share_of_self_time),
		cmocka_unit_test(filter_keeps_holders_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
