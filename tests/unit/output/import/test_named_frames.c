/* output/import/named_frames.c: which functions are one frame, and which paths one module. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/copy.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "output/import/named_frames.h"

enum { LONG = 1000000 };

/* Interns a name of that many letters, the first and the last of them as given. */
static uint32_t add_name(struct profile *p, char first, char last, size_t size)
{
	char *text = xmalloc(size);
	uint32_t name;

	memset(text, 'x', size);
	text[0] = first;
	text[size - 1] = last;
	name = profile_string(p, text, size);
	free(text);
	return name;
}

static struct import_function function_of(uint32_t name)
{
	return (struct import_function){
		.name = name, .system_name = name, .line = 5, .module = PROFILE_NONE
	};
}

static void functions_that_differ_in_any_field_are_different_frames(void **state)
{
	struct profile *p = profile_new();
	uint32_t name = profile_cstring(p, "f"), other = profile_cstring(p, "g");
	struct import_function functions[8], both[2];
	uint32_t frames[8], frame;

	(void)state;
	for (int i = 0; i < 8; i++)
		functions[i] = function_of(name);
	functions[1].name = other;
	functions[2].system_name = other;
	functions[3].file = other;
	functions[4].start_line = 1;
	functions[5].line = 6;
	functions[6].kind = FUNCTION_JIT;
	functions[7].inlined = true;
	for (int i = 0; i < 8; i++) {
		frames[i] = import_frame(p, &functions[i], 1);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(frames[i], frames[k]);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(import_frame(p, &functions[i], 1), frames[i]);
	both[0] = both[1] = functions[0];
	frame = import_frame(p, both, 2);
	for (int i = 0; i < 8; i++)
		assert_int_not_equal(frame, frames[i]);
	assert_int_equal(p->nr_frames, 9);
	profile_free(p);
}

/* Writing the whole name down for each frame would take several minutes. */
static void long_names_cost_no_time_per_frame_and_differ_by_their_ends(void **state)
{
	struct profile *p = profile_new();
	struct import_function a = function_of(add_name(p, 'f', 'a', LONG));
	struct import_function b = function_of(add_name(p, 'f', 'b', LONG));
	uint32_t frame_a = import_frame(p, &a, 1), frame_b;

	(void)state;
	b.system_name = a.system_name;
	frame_b = import_frame(p, &b, 1);
	assert_int_not_equal(frame_a, frame_b);
	for (int i = 0; i < 500000; i++) {
		assert_int_equal(import_frame(p, &a, 1), frame_a);
		assert_int_equal(import_frame(p, &b, 1), frame_b);
	}
	profile_free(p);
}

/* The ids of names and files are the same in both profiles. */
static void functions_of_two_profiles_stay_apart_in_a_copy(void **state)
{
	static const size_t sizes[] = { 1, 100, LONG };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct profile *to = profile_new();
		struct sink *sink = profile_sink_new(to);

		for (uint32_t k = 0; k < 2; k++) {
			struct profile *p = profile_new();
			char letter = (char)('a' + k);
			uint32_t name = add_name(p, letter, letter, sizes[i]);
			struct import_function f = function_of(name);
			uint32_t frame = import_frame(p, &f, 1);

			profile_add_sample(p, &(struct profile_sample){
						      .weight = 1,
						      .thread = PROFILE_NONE,
						      .stack = profile_stack(p, &frame, 1),
					      });
			profile_copy(p, &(struct profile_copy_opts){
						.sink = sink, .vocabulary = to, .number = k });
			profile_free(p);
		}
		assert_int_equal(to->nr_samples, 2);
		for (uint32_t k = 0; k < 2; k++) {
			const struct profile_stack *s = &to->stacks[to->samples[k].stack];
			const struct profile_frame *f =
				&to->frames[to->stack_frames[s->first_frame]];
			const struct profile_location *l = &to->locations[f->first_location];

			assert_int_equal(profile_str(to, to->functions[l->function].name)[0],
					 'a' + k);
		}
		profile_sink_free(sink);
		profile_free(to);
	}
}

static void a_placeholder_is_a_base_name_and_an_address(void **state)
{
	static const struct {
		const char *base, *name;
		bool is_unnamed;
	} cases[] = {
		{ "libx.so", "libx.so+0x12", true },
		{ "libx.so", "libx.so+0xffffffffffffffff", true },
		{ "libx.so", "libx.so+0x10000000000000000", false },
		{ "libx.so", "libx.so+0x", false },
		{ "libx.so", "libx.so+0x1g", false },
		{ "libx.so", "libx.so", false },
		{ "libx.so", "liby.so+0x12", false },
		{ "libx", "libx.so+0x12", false },
		{ "", "+0x12", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(import_is_unnamed(cases[i].base, cases[i].name),
				 cases[i].is_unnamed);
}

static void modules_are_known_by_path_and_build_id(void **state)
{
	struct profile *p = profile_new();
	uint32_t path = profile_cstring(p, "/lib/libx.so"), id = profile_cstring(p, "abcd");
	struct import_modules modules = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct import_module m = import_modules_find(&modules, p, path, id);

		assert_int_equal(m.id, 0);
		assert_int_equal(m.kind, FUNCTION_NATIVE);
		assert_string_equal(m.base, "libx.so");
		assert_int_equal(import_modules_find(&modules, p, path, 0).id, 1);
		assert_int_equal(import_modules_find(&modules, p, 0, id).id, PROFILE_NONE);
		assert_string_equal(import_modules_find(&modules, p, 0, id).base, "");
	}
	assert_int_equal(p->nr_modules, 2);
	import_modules_fini(&modules);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_differ_in_any_field_are_different_frames),
		cmocka_unit_test(long_names_cost_no_time_per_frame_and_differ_by_their_ends),
		cmocka_unit_test(functions_of_two_profiles_stay_apart_in_a_copy),
		cmocka_unit_test(a_placeholder_is_a_base_name_and_an_address),
		cmocka_unit_test(modules_are_known_by_path_and_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
