/* Which functions belong to Python's collector, and which line is charged with it. */
#include "tests/unit/unit.h"

#include <string.h>

#include "output/python/gc_times.h"

static struct profile *p;

static uint32_t native(const char *path, const char *name)
{
	struct profile_module module = { .kind = MODULE_ELF, .path = profile_cstring(p, path) };
	struct profile_function function = { .kind = FUNCTION_NATIVE };
	struct profile_location location = { 0 };
	uint32_t frame;

	function.module = profile_module(p, &module);
	function.name = function.system_name = profile_cstring(p, name);
	location.function = profile_function(p, &function);
	frame = profile_frame(p, function.module, function.name);
	if (*name)
		profile_set_locations(p, frame, &location, 1);
	return frame;
}

static uint32_t python(const char *name, uint64_t line)
{
	const struct profile_module module = { .kind = MODULE_PYTHON,
					       .path = profile_cstring(p, "a.py"),
					       .code_name = profile_cstring(p, name),
					       .code_line = 7 };

	return profile_python_frame(p, profile_module(p, &module), line);
}

/* A stack of main, f at `line`, a function of the collector, and the innermost frame. */
static void add(uint64_t weight, uint64_t line, uint32_t collector, uint32_t leaf)
{
	const uint32_t frames[] = { python("main", 9), python("f", line), collector, leaf };
	struct profile_sample s = { .weight = weight, .thread = PROFILE_NONE };

	s.stack = profile_stack(p, frames, 4);
	profile_add_sample(p, &s);
}

static void pauses_belong_to_the_line_that_was_running(void **state)
{
	static const char *const names[] = { "gc_collect_main", "collect.constprop.0",
					     "gc_collect_main.cold" };
	const char *lib = "/usr/lib/libpython3.8.so.1.0";
	struct gc_times t;
	uint32_t leaf;

	(void)state;
	p = profile_new();
	leaf = native("/lib/libc.so.6", "free");
	for (int i = 0; i < 3; i++)
		add(10, 20, native(lib, names[i]), leaf);
	add(5, 21, native("/usr/bin/embeds", "PyGC_Collect"), python("__del__", 30));
	add(100, 20, native("/usr/bin/other", "collect"), leaf);
	add(100, 20, native(lib, "gc_collect_mainly"), leaf);
	gc_times_init(&t, p, COLUMN_CPU);
	assert_int_equal(t.nr_rows, 2);
	assert_int_equal(t.value, 35);
	assert_int_equal(t.events, 4);
	assert_int_equal(t.rows[0].value, 30);
	assert_int_equal(t.rows[0].line, 20);
	assert_string_equal(profile_str(p, p->functions[t.rows[0].function].name), "f (a.py:7)");
	assert_int_equal(t.rows[1].value, 5);
	assert_int_equal(t.rows[1].line, 21);
	assert_false(t.is_stripped);
	gc_times_fini(&t);
	add(1, 20, native("/usr/bin/python3.11", ""), leaf);
	gc_times_init(&t, p, COLUMN_CPU);
	assert_true(t.is_stripped);
	gc_times_fini(&t);
	gc_times_init(&t, p, COLUMN_WALL);
	assert_int_equal(t.nr_rows, 0);
	gc_times_fini(&t);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_belong_to_the_line_that_was_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
