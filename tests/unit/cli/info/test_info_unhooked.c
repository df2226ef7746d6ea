// BUILD: cli/info/info_unhooked.c
/* What sprof info says of allocation functions that could not be hooked. */
#include "tests/unit/unit.h"

#include <string.h>

#include "cli/info/info_unhooked.h"
#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "core/profile/profile.h"

static void put(struct profile *p, const char *name, const char *path, const char *why)
{
	const struct fact_memory_unhooked row = {
		.pid = 811,
		.name = profile_cstring(p, name),
		.path = profile_cstring(p, path),
		.why = profile_cstring(p, why),
	};

	facts_put(p, FACT_MEMORY_UNHOOKED, &row);
}

static void says(void (*say)(struct buffer *, const struct profile *), const struct profile *p,
		 const char *wanted)
{
	struct buffer b = { 0 };

	say(&b, p);
	buffer_add_char(&b, '\0');
	assert_string_equal(b.data, wanted);
	buffer_fini(&b);
}

static void nothing_is_said_where_all_are_hooked(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	says(info_unhooked_text, p, "");
	says(info_unhooked_json, p, ",\n  \"unhooked\": []");
	profile_free(p);
}

static void functions_are_named_with_the_reason(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	put(p, "valloc", "/lib/a.so", "it is short");
	put(p, "valloc", "/lib/a.so", "it is too short"); /* said again: replaced */
	put(p, "Python's objects", "", "wrapped");
	says(info_unhooked_text, p,
	     "\nNot counted, because it could not be hooked\n"
	     "process  what              why              file\n"
	     "    811  valloc            it is too short  /lib/a.so\n"
	     "    811  Python's objects  wrapped\n");
	says(info_unhooked_json, p,
	     ",\n  \"unhooked\": [\n"
	     "    {\"pid\": 811, \"name\": \"valloc\", \"path\": \"/lib/a.so\", "
	     "\"why\": \"it is too short\"},\n"
	     "    {\"pid\": 811, \"name\": \"Python's objects\", \"path\": \"\", "
	     "\"why\": \"wrapped\"}]");
	profile_free(p);
}

static void names_of_a_target_cannot_steer_a_terminal(void **state)
{
	struct profile *p = profile_new();
	struct buffer b = { 0 };

	(void)state;
	put(p, "a\nb", "/lib/\033[2J", "\033]0;x\a");
	info_unhooked_text(&b, p);
	info_unhooked_json(&b, p);
	for (size_t i = 0; i < b.size; i++)
		assert_true(b.data[i] == '\n' || (unsigned char)b.data[i] >= ' ');
	assert_null(memmem(b.data, b.size, "a\nb", 3));
	buffer_fini(&b);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_where_all_are_hooked),
		cmocka_unit_test(functions_are_named_with_the_reason),
		cmocka_unit_test(names_of_a_target_cannot_steer_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
