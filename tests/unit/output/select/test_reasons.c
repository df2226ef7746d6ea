/* The reasons that only the functions below a wait tell. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/profile.h"
#include "output/select/reasons.h"

/* Names from the root, each "file:function", the last one a reason. Returns the stack. */
static uint32_t add(struct profile *p, const char *text)
{
	struct profile_sample s = {
		.weight = 1,
		.thread = PROFILE_NONE,
		.column = COLUMN_WAITING,
	};
	char copy[200], *rest = copy;
	uint32_t frames[8], nr = 0;

	strcpy(copy, text);
	for (char *name; (name = strsep(&rest, " ")); nr++) {
		struct profile_module module = { .kind = MODULE_ELF };
		struct profile_location location = { 0 };
		struct profile_function function = { .kind = FUNCTION_NATIVE };
		char *colon = strchr(name, ':');

		if (!colon) {
			frames[nr] = profile_named_frame(p, name, strlen(name), FUNCTION_WAIT);
			continue;
		}
		module.path = profile_string(p, name, (size_t)(colon - name));
		function.module = profile_module(p, &module);
		function.name = function.system_name = profile_cstring(p, colon + 1);
		location.function = profile_function(p, &function);
		frames[nr] = profile_frame(p, function.module, function.name);
		profile_set_locations(p, frames[nr], &location, 1);
	}
	s.stack = profile_stack(p, frames, nr);
	profile_add_sample(p, &s);
	return s.stack;
}

/* The reason of a sample, as it is now. */
static void assert_reason(const struct profile *p, size_t sample, const char *reason)
{
	const struct profile_stack *s = &p->stacks[p->samples[sample].stack];
	uint32_t frame = p->stack_frames[s->first_frame + s->nr_frames - 1];
	const struct profile_location *at = &p->locations[p->frames[frame].first_location];

	assert_string_equal(profile_str(p, p->functions[at->function].name), reason);
}

static void an_interpreter_without_names_waits_for_its_gil_too(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	add(p, "/bin/python3.11:+0x4f9 /l/libc.so.6:pthread_cond_timedwait lock");
	add(p, "/bin/python3.11:+0x4f9 /l/libc.so.6:___pthread_mutex_lock lock");
	add(p, "/bin/python3.11:+0x4f9 /l/libc.so.6:read lock");
	add(p, "/bin/python3.11:+0x888 /l/libc.so.6:pthread_mutex_lock lock");
	add(p, "/bin/python3.11:+0x888 /l/libfoo.so:x /l/libc.so.6:pthread_cond_clockwait lock");
	add(p, "/bin/python3.11:take_gil lock");
	add(p, "/bin/python3.11:PyEval_SaveThread /l/libc.so.6:pthread_cond_signal lock");
	add(p, "/l/libfoo.so:x /l/libc.so.6:pthread_cond_timedwait lock");
	reasons_refine(p);
	assert_reason(p, 0, "GIL wait");
	assert_reason(p, 1, "GIL wait");
	assert_reason(p, 2, "lock");
	assert_reason(p, 3, "lock");
	assert_reason(p, 4, "lock");
	assert_reason(p, 5, "GIL wait");
	assert_reason(p, 6, "GIL wait");
	assert_reason(p, 7, "lock");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interpreter_without_names_waits_for_its_gil_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
