/*
 * core/profile/copy.c: copies into a profile that has content already, and into a recording and
 * back.
 */
#include "tests/unit/recording.h"

#include "core/profile/column.h"
#include "core/profile/copy.h"
#include "core/profile/source.h"
#include "tests/unit/random_profile.h"

static void add_lines(struct plain_lines *want, const struct plain_profile *plain,
		      const char *origin)
{
	for (unsigned i = 0; i < plain->nr; i++) {
		static struct plain_lines one;
		char path[PLAIN_TEXT * 2];

		one.nr = 0;
		plain_lines_add_sample(&one, &plain->samples[i]);
		snprintf(path, sizeof(path), "%s%s", origin, one.lines[0].path);
		plain_lines_add(want, path, one.lines[0].weight, 1);
	}
}

static void several_profiles_become_their_sum(void **state)
{
	static struct plain_profile plain;
	static struct plain_lines want;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct profile *to = profile_new();
		struct sink *sink = profile_sink_new(to);
		bool origins = i % 2;

		want.nr = 0;
		for (uint32_t k = 0; k < 2; k++) {
			struct profile *p = plain_make(&plain, rng(2));
			const char *origin = k ? "host b@;" : "host a@;";

			profile_copy(p,
				     &(struct profile_copy_opts){
					     .sink = sink,
					     .vocabulary = to,
					     .number = k,
					     .origin = origins ? (k ? "host b" : "host a") : NULL,
				     });
			add_lines(&want, &plain, origins ? origin : "");
			profile_free(p);
		}
		plain_assert_profile(to, &want);
		profile_sink_free(sink);
		profile_free(to);
	}
}

static void add_event(struct profile *p, unsigned int column, const char *name, uint64_t period)
{
	struct profile_sample s = { .weight = 7,
				    .column = (uint8_t)column,
				    .thread = PROFILE_NONE };
	struct fact_event e = { .column = column,
				.name = profile_cstring(p, name),
				.period = period };

	s.stack = profile_stack(p, NULL, 0);
	profile_add_sample(p, &s);
	facts_put(p, FACT_EVENT, &e);
}

static uint64_t sum_of(const struct profile *p, const char *event)
{
	unsigned int column = column_find_event(p, event);
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		sum += p->samples[i].column == column ? p->samples[i].weight : 0;
	return sum;
}

static void events_of_one_name_share_a_column(void **state)
{
	struct profile *to = profile_new();
	struct sink *sink = profile_sink_new(to);
	uint64_t left_out;

	(void)state;
	for (uint32_t k = 0; k < 4; k++) {
		struct profile *p = profile_new();

		add_event(p, k == 1 ? COLUMN_EVENT_8 : COLUMN_EVENT_1, "page-faults",
			  k < 2 ? 1 : 5);
		add_event(p, k == 1 ? COLUMN_EVENT_1 : COLUMN_EVENT_8, "context-switches", 1);
		for (unsigned int i = 1; k == 2 && i < 7; i++) {
			char name[8] = { 'a', ':', (char)('a' + i) };

			add_event(p, COLUMN_EVENT_1 + i, name, 1);
		}
		if (k == 3)
			add_event(p, COLUMN_EVENT_1 + 1, "a:ninth", 1);
		left_out = profile_copy(p, &(struct profile_copy_opts){
						   .sink = sink, .vocabulary = to, .number = k });
		assert_int_equal(left_out, k == 3);
		profile_free(p);
	}
	assert_int_equal(sum_of(to, "page-faults"), 28);
	assert_int_equal(sum_of(to, "context-switches"), 28);
	assert_int_equal(sum_of(to, "a:b"), 7);
	/* Those that differ in period have none that is true of all. */
	assert_false(column_info_of(to, column_find_event(to, "page-faults"))->exact);
	assert_true(column_info_of(to, column_find_event(to, "context-switches"))->exact);
	profile_sink_free(sink);
	profile_free(to);
}

/* The same address in two kernels has two names. */
static void kernels_of_two_hosts_are_told_apart(void **state)
{
	struct profile *to = profile_new();
	struct sink *sink = profile_sink_new(to);
	struct plain_lines want = { .nr = 0 };

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		struct profile *p = profile_new();
		struct profile_module m = { .kind = MODULE_KERNEL,
					    .path = profile_cstring(p, "[kernel]") };
		uint32_t module = profile_module(p, &m), frame = profile_frame(p, module, 0xf00);
		struct profile_location l = {
			.function = profile_function(
				p,
				&(struct profile_function){
					.name = profile_cstring(p, k ? "read" : "write"),
					.module = module,
					.kind = FUNCTION_KERNEL,
				}),
		};

		profile_set_locations(p, frame, &l, 1);
		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1 + k,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, &frame, 1),
				      });
		profile_copy(p, &(struct profile_copy_opts){
					.sink = sink, .vocabulary = to, .number = k });
		profile_free(p);
	}
	plain_lines_add(&want, "write@[kernel];", 1, 1);
	plain_lines_add(&want, "read@[kernel];", 2, 1);
	plain_assert_profile(to, &want);
	profile_sink_free(sink);
	profile_free(to);
}

static void a_recording_of_a_copy_is_the_profile(void **state)
{
	static struct plain_profile plain;
	static struct plain_lines want;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct profile *p = plain_make(&plain, true), *again;
		struct recfile *w = create_recording("copy.data");

		want.nr = 0;
		add_lines(&want, &plain, "");
		profile_copy(p, &(struct profile_copy_opts){ .sink = recfile_sink(w),
							     .vocabulary = recfile_vocabulary(w),
							     .time_shift_ns = 7 });
		assert_int_equal(recfile_write_symbols(w), 0);
		assert_int_equal(recfile_finish(w, &p->stats, p->meta.end_ns), 0);
		recfile_free(w);
		again = read_recording("copy.data", NULL);
		plain_assert_profile(again, &want);
		assert_int_equal(again->nr_samples, p->nr_samples);
		for (size_t j = 0; j < p->nr_samples; j++)
			assert_int_equal(again->samples[j].time_ns, p->samples[j].time_ns + 7);
		profile_free(p);
		profile_free(again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_profiles_become_their_sum),
		cmocka_unit_test(events_of_one_name_share_a_column),
		cmocka_unit_test(kernels_of_two_hosts_are_told_apart),
		cmocka_unit_test_setup_teardown(a_recording_of_a_copy_is_the_profile,
						enter_new_directory, remove_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
