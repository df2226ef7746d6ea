/*
 * Events of recordings that are read as one (core/recording/decode_part.c): each recording numbers
 * its events from one, and only their names say which are the same.
 */
#include "tests/unit/recording.h"

#include "core/profile/column.h"
#include "core/profile/facts.h"

#define S UINT64_C(1000000000)
#define MAX_EVENTS 8

struct event {
	const char *name;
	uint64_t period, weight;
};

/* Adds a recording with a sample of each event, in columns of this order. */
static void add(struct profile *p, struct recfile_part *part, uint64_t after_ns,
		const struct event *events, size_t nr)
{
	struct recfile_meta meta = test_meta;
	struct sink *sink;
	struct recfile *w;

	meta.start_ns += after_ns;
	meta.start_realtime_ns += after_ns;
	assert_int_equal(recfile_create("part.data", &meta, &w), 0);
	sink = recfile_sink(w);
	for (size_t i = 0; i < nr; i++) {
		const struct fact_event fact = {
			.column = COLUMN_EVENT_1 + i,
			.name = sink_cstring(sink, events[i].name),
			.period = events[i].period,
		};
		const struct profile_sample sample = {
			.time_ns = meta.start_ns + 1 + i,
			.weight = events[i].weight,
			.thread = PROFILE_NONE,
			.stack = sink->stack(sink, NULL, 0),
			.column = (uint8_t)(COLUMN_EVENT_1 + i),
		};

		sink->sample(sink, &sample);
		sink->fact(sink, FACT_EVENT, &fact); /* as late as it may come */
	}
	add_part(w, meta.start_ns + 10 * S, p, part);
}

static uint64_t sum_of(const struct profile *p, const char *event)
{
	unsigned int column = column_find_event(p, event);
	uint64_t sum = 0;

	assert_int_not_equal(column, NR_COLUMNS);
	for (size_t i = 0; i < p->nr_samples; i++)
		sum += p->samples[i].column == column ? p->samples[i].weight : 0;
	return sum;
}

static bool is_exact(const struct profile *p, const char *event)
{
	return column_info_of(p, column_find_event(p, event))->exact;
}

static void events_of_one_name_are_one_column_in_whatever_order(void **state)
{
	static const struct event first[] = { { "cycles", 100, 1 }, { "instructions", 100, 2 } };
	static const struct event second[] = { { "instructions", 100, 4 }, { "cycles", 100, 8 } };
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();

	(void)state;
	add(p, &part, 0, first, 2);
	add(p, &part, 10 * S, second, 2);
	assert_int_equal(sum_of(p, "cycles"), 9);
	assert_int_equal(sum_of(p, "instructions"), 6);
	assert_int_equal(p->stats.nr_lost, 0);
	profile_free(p);
}

static void events_of_other_names_have_columns_of_their_own(void **state)
{
	static const struct event first[] = { { "cache-misses", 100, 1 } };
	static const struct event second[] = { { "page-faults", 1, 2 } };
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();

	(void)state;
	add(p, &part, 0, first, 1);
	add(p, &part, 10 * S, second, 1);
	add(p, &part, 20 * S, first, 1);
	assert_int_equal(sum_of(p, "cache-misses"), 2);
	assert_int_equal(sum_of(p, "page-faults"), 2);
	assert_false(is_exact(p, "cache-misses"));
	assert_true(is_exact(p, "page-faults"));
	profile_free(p);
}

static void one_event_with_two_periods_is_not_exact(void **state)
{
	static const struct event first[] = { { "page-faults", 1, 1 } };
	static const struct event second[] = { { "page-faults", 10, 2 } };
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();

	(void)state;
	add(p, &part, 0, first, 1);
	assert_true(is_exact(p, "page-faults"));
	add(p, &part, 10 * S, second, 1);
	add(p, &part, 20 * S, first, 1);
	assert_int_equal(sum_of(p, "page-faults"), 4);
	assert_false(is_exact(p, "page-faults"));
	profile_free(p);
}

static void samples_of_a_ninth_event_are_counted_as_lost(void **state)
{
	static const struct event other[] = { { "page-faults", 1, 2 } };
	struct event events[MAX_EVENTS];
	char names[MAX_EVENTS][8];
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();

	(void)state;
	for (size_t i = 0; i < MAX_EVENTS; i++) {
		snprintf(names[i], sizeof(names[i]), "a:e%zu", i);
		events[i] = (struct event){ names[i], 1, 1 };
	}
	add(p, &part, 0, events, MAX_EVENTS);
	add(p, &part, 10 * S, other, 1);
	assert_int_equal(p->nr_samples, MAX_EVENTS);
	assert_int_equal(p->stats.nr_lost, 1);
	assert_int_equal(column_find_event(p, "page-faults"), NR_COLUMNS);
	profile_free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_new_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_one_name_are_one_column_in_whatever_order),
		TEST(events_of_other_names_have_columns_of_their_own),
		TEST(one_event_with_two_periods_is_not_exact),
		TEST(samples_of_a_ninth_event_are_counted_as_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
