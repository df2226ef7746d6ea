/* core/profile/profile.c and intern.c: equal content has one id, ids are dense, names are right. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/profile.h"
#include "core/profile/source.h"

static int new_profile(void **state)
{
	*state = profile_new();
	return 0;
}

static int free_profile(void **state)
{
	profile_free(*state);
	return 0;
}

static uint32_t elf_module(struct profile *p, const char *path)
{
	struct profile_module module = { .path = profile_cstring(p, path), .kind = MODULE_ELF };

	return profile_module(p, &module);
}

static void empty_string_is_id_0(void **state)
{
	struct profile *p = *state;

	assert_int_equal(p->nr_strings, 1);
	assert_string_equal(profile_str(p, 0), "");
	assert_int_equal(profile_string(p, NULL, 0), 0);
	assert_int_equal(profile_cstring(p, ""), 0);
}

static void equal_strings_have_one_id(void **state)
{
	struct profile *p = *state;
	uint32_t a = profile_cstring(p, "main"), b = profile_cstring(p, "mai");

	assert_int_not_equal(a, b);
	assert_int_equal(profile_string(p, "main()", 4), a);
	assert_int_equal(profile_string(p, "main", 3), b);
	assert_int_equal(profile_string(p, "main\0tail", 9), a);
	assert_int_equal(p->nr_strings, 3);
}

static void many_strings_keep_their_content(void **state)
{
	struct profile *p = *state;
	char name[32];

	for (int i = 0; i < 300000; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		assert_int_equal(profile_cstring(p, name), i + 1);
	}
	for (int i = 0; i < 300000; i += 7) {
		snprintf(name, sizeof(name), "function_%d", i);
		assert_int_equal(profile_cstring(p, name), i + 1);
		assert_string_equal(profile_str(p, i + 1), name);
	}
}

static void long_strings_lie_beside_short_ones(void **state)
{
	struct profile *p = *state;
	size_t size = 1000000;
	char *big = malloc(size);
	uint32_t before = profile_cstring(p, "before"), id, after;

	memset(big, 'x', size);
	id = profile_string(p, big, size);
	after = profile_cstring(p, "after");
	assert_int_equal(profile_string(p, big, size), id);
	assert_int_not_equal(profile_string(p, big, size - 1), id);
	assert_int_equal(strlen(profile_str(p, id)), size);
	assert_string_equal(profile_str(p, before), "before");
	assert_string_equal(profile_str(p, after), "after");
	free(big);
}

static void modules_differ_by_build_id_and_inode(void **state)
{
	struct profile *p = *state;
	struct profile_module m;
	uint32_t id;

	memset(&m, 0xee, sizeof(m)); /* padding and unused bytes must not matter */
	m.path = profile_cstring(p, "/bin/x");
	m.pid = 0;
	m.kind = MODULE_ELF;
	m.build_id_size = 2;
	m.dev = 1;
	m.ino = 2;
	id = profile_module(p, &m);
	m.build_id[2] = 7;
	assert_int_equal(profile_module(p, &m), id);
	m.build_id[1] = 7;
	assert_int_equal(profile_module(p, &m), id + 1);
	m.ino = 3;
	assert_int_equal(profile_module(p, &m), id + 2);
	assert_int_equal(p->nr_modules, 3);
	assert_int_equal(p->modules[id].build_id[2], 0);
}

static void thread_that_changes_its_name_gets_a_new_id(void **state)
{
	struct profile *p = *state;
	uint32_t a = profile_thread(p, 10, 11, profile_cstring(p, "sh"));
	uint32_t b = profile_thread(p, 10, 11, profile_cstring(p, "cc1"));

	assert_int_not_equal(a, b);
	assert_int_equal(profile_thread(p, 10, 11, profile_cstring(p, "sh")), a);
	assert_string_equal(profile_str(p, p->threads[b].comm), "cc1");
}

static void frames_differ_by_module_and_address(void **state)
{
	struct profile *p = *state;
	uint32_t m = elf_module(p, "/bin/a"), n = elf_module(p, "/bin/b");
	uint32_t a = profile_frame(p, m, 0x1000), b = profile_frame(p, n, 0x1000);

	assert_int_not_equal(a, b);
	assert_int_equal(profile_frame(p, m, 0x1000), a);
	assert_int_not_equal(profile_frame(p, m, 0x100000000), profile_frame(p, m, 0));
	assert_int_equal(p->frames[a].nr_locations, 0);
}

static void stacks_are_compared_by_every_frame(void **state)
{
	struct profile *p = *state;
	uint32_t empty = profile_stack(p, NULL, 0);
	uint32_t one = profile_stack(p, (uint32_t[]){ 1 }, 1);
	uint32_t two = profile_stack(p, (uint32_t[]){ 1, 2 }, 2);

	assert_int_equal(empty, 0);
	assert_int_equal(one, 1);
	assert_int_equal(two, 2);
	assert_int_equal(profile_stack(p, NULL, 0), empty);
	assert_int_equal(profile_stack(p, (uint32_t[]){ 1, 2 }, 2), two);
	assert_int_equal(profile_stack(p, (uint32_t[]){ 2, 1 }, 2), 3);
	assert_int_equal(p->stacks[two].nr_frames, 2);
	assert_int_equal(p->stack_frames[p->stacks[two].first_frame + 1], 2);
}

static void half_a_million_stacks_are_found_again(void **state)
{
	struct profile *p = *state;
	uint32_t frames[24];

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < 500000; i++) {
			for (uint32_t d = 0; d < 24; d++)
				frames[d] = (i >> (d / 2)) * 31 + d;
			assert_int_equal(profile_stack(p, frames, 24), i);
		}
	}
	assert_int_equal(p->nr_stacks, 500000);
	assert_int_equal(p->nr_stack_frames, 500000 * (24 + 1));
}

/* Some are in the tables already, some twice in a batch, and the tables grow meanwhile. */
static void a_batch_gets_the_ids_of_single_calls(void **state)
{
	struct profile *batch = *state, *single = profile_new();
	uint32_t module = elf_module(batch, "/x"), n = 0;

	assert_int_equal(elf_module(single, "/x"), module);
	for (uint32_t round = 0; round < 500; round++) {
		struct profile_frame keys[PROFILE_BATCH];
		uint32_t ids[PROFILE_BATCH], frames[PROFILE_BATCH * PROFILE_BATCH];
		size_t ends[PROFILE_BATCH], nr = round % (PROFILE_BATCH + 1), at = 0;

		for (size_t i = 0; i < nr; i++)
			keys[i] = (struct profile_frame){ module, 0, 0, (n += 7) % 1000 };
		profile_frame_batch(batch, keys, nr, ids);
		for (size_t i = 0; i < nr; i++) {
			assert_int_equal(ids[i], profile_frame(single, module, keys[i].address));
			for (size_t k = 0; k < i; k++) /* the first stack is empty */
				frames[at++] = ids[(i * round + k) % nr];
			ends[i] = at;
		}
		profile_stack_batch(batch, frames, ends, nr, ids);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(ids[i], profile_stack(single, frames + ends[i] - i, i));
	}
	assert_int_equal(batch->nr_frames, 1000);
	assert_true(single->nr_stacks > 1000);
	assert_int_equal(batch->nr_frames, single->nr_frames);
	assert_int_equal(batch->nr_stacks, single->nr_stacks);
	profile_free(single);
}

static void stacks_beyond_the_limit_are_one_stack_and_counted(void **state)
{
	struct profile *p = *state;
	uint32_t frames[10], known, left_out;

	for (uint32_t i = 0; i < 10; i++)
		frames[i] = profile_frame(p, elf_module(p, "/a"), i);
	p->stack_frames_max = 40;
	known = profile_stack(p, frames, 10);
	assert_int_equal(profile_new_stack(p, frames, 10), known + 1);
	assert_int_equal(profile_stack(p, frames, 5), known + 2);
	assert_int_equal(p->nr_stacks_left_out, 0);
	left_out = profile_stack(p, frames, 9);
	assert_int_equal(profile_new_stack(p, frames, 10), left_out);
	assert_int_equal(profile_stack(p, frames, 9), left_out);
	assert_int_equal(profile_stack(p, frames, SIZE_MAX / 8), left_out);
	assert_int_equal(p->nr_stacks_left_out, 4);
	assert_int_equal(p->stacks[left_out].nr_frames, 1);
	assert_int_equal(p->stack_frames[p->stacks[left_out].first_frame],
			 profile_marker_frame(p, MARKER_OVER_LIMIT));
	assert_int_equal(profile_stack(p, frames, 1), left_out + 1); /* a small one fits */
	assert_true(p->nr_stack_frames <= 40);
}

static void locations_can_be_replaced(void **state)
{
	struct profile *p = *state;
	uint32_t frame = profile_frame(p, elf_module(p, "/bin/a"), 1);
	uint32_t other = profile_frame(p, elf_module(p, "/bin/a"), 2);
	struct profile_location one[] = { { .function = 5, .line = 50 } };
	struct profile_location two[] = { { .function = 6 }, { .function = 7, .inlined = true } };

	profile_set_locations(p, frame, one, 1);
	profile_set_locations(p, other, one, 1);
	profile_set_locations(p, frame, two, 2);
	assert_int_equal(p->frames[frame].nr_locations, 2);
	assert_int_equal(p->locations[p->frames[frame].first_location].function, 6);
	assert_true(p->locations[p->frames[frame].first_location + 1].inlined);
	assert_int_equal(p->locations[p->frames[other].first_location].line, 50);
	profile_set_locations(p, frame, NULL, 0);
	assert_int_equal(p->frames[frame].nr_locations, 0);
}

static void named_frames_differ_by_kind(void **state)
{
	struct profile *p = *state;
	uint32_t user = profile_named_frame(p, "read!", 4, FUNCTION_NATIVE);
	uint32_t kernel = profile_named_frame(p, "read", 4, FUNCTION_KERNEL);
	const struct profile_function *function;
	char buf[32];

	assert_int_not_equal(user, kernel);
	assert_int_equal(profile_named_frame(p, "read", 4, FUNCTION_NATIVE), user);
	assert_int_equal(profile_frame_of_name(p, profile_cstring(p, "read"), FUNCTION_KERNEL),
			 kernel);
	assert_int_equal(p->nr_functions, 2);
	function = &p->functions[p->locations[p->frames[kernel].first_location].function];
	assert_string_equal(profile_str(p, function->name), "read");
	assert_int_equal(function->kind, FUNCTION_KERNEL);
	assert_int_equal(function->module, PROFILE_NONE);
	assert_string_equal(profile_frame_fallback_name(p, user, buf, sizeof(buf)), "read");
}

static void frames_without_names_show_module_and_address(void **state)
{
	struct profile *p = *state;
	struct profile_module marker = { .kind = MODULE_MARKER };
	char buf[40];

	profile_frame_fallback_name(p, profile_frame(p, elf_module(p, "/lib/libc.so.6"), 0x1234),
				    buf, sizeof(buf));
	assert_string_equal(buf, "libc.so.6+0x1234");
	profile_frame_fallback_name(p, profile_frame(p, elf_module(p, ""), 0x10), buf, sizeof(buf));
	assert_string_equal(buf, "[unknown]+0x10");
	profile_frame_fallback_name(p, profile_marker_frame(p, MARKER_NO_RULE), buf, sizeof(buf));
	assert_string_equal(buf, "[no unwind rule]");
	profile_frame_fallback_name(p, profile_frame(p, profile_module(p, &marker), 1000), buf,
				    sizeof(buf));
	assert_string_equal(buf, "[marker 1000]");
	profile_frame_fallback_name(p, profile_marker_frame(p, MARKER_NO_RULE), buf, 5);
	assert_string_equal(buf, "[no ");
}

static void every_marker_has_its_own_name(void **state)
{
	(void)state;
	for (int i = 0; i < NR_MARKERS; i++) {
		assert_int_equal(marker_name((enum marker)i)[0], '[');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(marker_name((enum marker)i),
						marker_name((enum marker)k));
	}
	assert_string_equal(marker_name((enum marker)NR_MARKERS), "[marker]");
}

static void marker_is_found_by_its_name_and_its_former_name(void **state)
{
	static const char former[] = "[truncated: too deep]";

	(void)state;
	for (int i = 0; i < NR_MARKERS; i++) {
		const char *name = marker_name((enum marker)i);

		assert_int_equal(marker_from_name(name, strlen(name)), i);
		assert_int_equal(marker_from_name(name, strlen(name) - 1), -1);
	}
	assert_int_equal(marker_from_name(former, strlen(former)), MARKER_TOO_DEEP);
	assert_int_equal(marker_from_name("main", 4), -1);
}

static void profile_sink_fills_the_profile(void **state)
{
	struct profile *p = *state;
	struct sink *sink = profile_sink_new(p);
	struct profile_module module = { .path = sink->string(sink, "/bin/a", 6) };
	uint32_t frame = sink->frame(sink, sink->module(sink, &module), 0x40);
	struct profile_sample sample = {
		.weight = 1000,
		.thread = sink->thread(sink, 1, 2, sink->string(sink, "a", 1)),
		.stack = sink->stack(sink, &frame, 1),
	};

	sink->sample(sink, &sample);
	profile_sink_free(sink);
	assert_int_equal(p->nr_samples, 1);
	assert_int_equal(p->samples[0].weight, 1000);
	assert_int_equal(p->threads[p->samples[0].thread].tid, 2);
	assert_int_equal(p->frames[p->stack_frames[0]].address, 0x40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(empty_string_is_id_0, new_profile, free_profile),
		cmocka_unit_test_setup_teardown(equal_strings_have_one_id, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(many_strings_keep_their_content, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(long_strings_lie_beside_short_ones, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(modules_differ_by_build_id_and_inode, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(thread_that_changes_its_name_gets_a_new_id,
						new_profile, free_profile),
		cmocka_unit_test_setup_teardown(frames_differ_by_module_and_address, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(stacks_are_compared_by_every_frame, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(half_a_million_stacks_are_found_again, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(a_batch_gets_the_ids_of_single_calls, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(stacks_beyond_the_limit_are_one_stack_and_counted,
						new_profile, free_profile),
		cmocka_unit_test_setup_teardown(locations_can_be_replaced, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(named_frames_differ_by_kind, new_profile,
						free_profile),
		cmocka_unit_test_setup_teardown(frames_without_names_show_module_and_address,
						new_profile, free_profile),
		cmocka_unit_test_setup_teardown(every_marker_has_its_own_name, new_profile,
						free_profile),
		cmocka_unit_test(marker_is_found_by_its_name_and_its_former_name),
		cmocka_unit_test_setup_teardown(profile_sink_fills_the_profile, new_profile,
						free_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
