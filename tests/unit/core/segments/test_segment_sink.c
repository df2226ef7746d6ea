/* core/segments/segment_sink.c: what a source says with the same ids is right in every segment. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/segments/segment_sink.h"

struct source_ids {
	uint32_t module, thread, stack;
};

static uint32_t text(struct sink *to, const char *s)
{
	return to->string(to, s, strlen(s));
}

static struct source_ids begin(struct sink *to, const char *comm)
{
	struct profile_module m = { .path = text(to, "/usr/bin/x"), .kind = MODULE_ELF, .ino = 7 };
	struct profile_module wait = { .path = text(to, "[wait]"),
				       .kind = MODULE_NAMED,
				       .function_kind = FUNCTION_WAIT };
	struct source_ids ids;
	uint32_t frames[2];

	text(to, "a string that no segment needs");
	ids.module = to->module(to, &m);
	ids.thread = to->thread(to, 10, 11, text(to, comm));
	frames[0] = to->frame(to, ids.module, 0x1000);
	frames[1] = to->frame(to, to->module(to, &wait), text(to, "[lock]"));
	ids.stack = to->stack(to, frames, 2);
	return ids;
}

static void sample(struct sink *to, const struct source_ids *ids, uint64_t time_ns)
{
	to->sample(to, &(struct profile_sample){ .time_ns = time_ns,
						 .weight = 1,
						 .thread = ids->thread,
						 .stack = ids->stack });
}

static void assert_segment(const struct profile *p, size_t nr_samples)
{
	const struct profile_stack *s;

	assert_int_equal(p->nr_samples, nr_samples);
	assert_string_equal(profile_str(p, p->threads[p->samples[0].thread].comm), "worker");
	s = &p->stacks[p->samples[0].stack];
	assert_int_equal(s->nr_frames, 2);
	assert_int_equal(p->frames[p->stack_frames[s->first_frame]].address, 0x1000);
	assert_string_equal(
		profile_str(p, (uint32_t)p->frames[p->stack_frames[s->first_frame + 1]].address),
		"[lock]");
	for (size_t i = 0; i < p->nr_strings; i++)
		assert_string_not_equal(p->strings[i], "a string that no segment needs");
}

static void ids_outlive_segments(void **state)
{
	struct segment_sink *s = segment_sink_new(0);
	struct sink *front = segment_sink_front(s);
	struct source_ids ids = begin(front, "worker");

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct profile *p = profile_new();
		struct sink *to = profile_sink_new(p);

		segment_sink_turn(s, to);
		sample(front, &ids, 1);
		sample(front, &ids, 2);
		assert_segment(p, 2);
		assert_int_equal(segment_sink_source_module(s, 0), ids.module);
		assert_int_equal(segment_sink_source_module(s, 100), PROFILE_NONE);
		profile_sink_free(to);
		profile_free(p);
	}
	segment_sink_free(s);
}

static void without_a_segment_samples_are_counted(void **state)
{
	struct segment_sink *s = segment_sink_new(0);
	struct sink *front = segment_sink_front(s);
	struct source_ids ids = begin(front, "worker");

	(void)state;
	segment_sink_turn(s, NULL);
	for (int i = 0; i < 5; i++)
		sample(front, &ids, 1);
	assert_int_equal(segment_sink_take_dropped(s), 5);
	assert_int_equal(segment_sink_take_dropped(s), 0);
	segment_sink_free(s);
}

static size_t nr_rows(const struct profile *p, enum fact_kind kind)
{
	size_t nr;

	facts_rows(p, kind, &nr);
	return nr;
}

/* Sources say it once; each segment has to open alone. */
static void facts_of_processes_and_events_come_again(void **state)
{
	struct segment_sink *s = segment_sink_new(0);
	struct sink *front = segment_sink_front(s);
	struct source_ids ids = begin(front, "worker");

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct profile *p = profile_new();
		struct sink *to = profile_sink_new(p);
		const struct fact_limit *limits;

		segment_sink_turn(s, to);
		if (!i) {
			front->fact(
				front, FACT_EVENT,
				&(struct fact_event){ COLUMN_EVENT_1, text(front, "faults"), 3 });
			front->fact(
				front, FACT_PROCESS,
				&(struct fact_process){ .pid = 10, .cgroup = text(front, "/a") });
			front->fact(front, FACT_PROCESS, &(struct fact_process){ .pid = 99 });
		}
		front->fact(front, FACT_LIMIT,
			    &(struct fact_limit){ LIMIT_ROWS, text(front, "full"),
						  5 * ((uint64_t)i + 1) });
		if (i != 1)
			sample(front, &ids, 1);
		assert_int_equal(nr_rows(p, FACT_EVENT), 1);
		/* of a process that has samples here */
		assert_int_equal(nr_rows(p, FACT_PROCESS), i != 1);
		limits = facts_rows(p, FACT_LIMIT, &(size_t){ 0 });
		assert_int_equal(limits[0].count, 5);
		profile_sink_free(to);
		profile_free(p);
	}
	segment_sink_free(s);
}

/* After months of new processes: the vocabulary is emptied, and begins anew. */
static void a_large_vocabulary_is_forgotten(void **state)
{
	struct segment_sink *s = segment_sink_new(0);
	struct sink *front = segment_sink_front(s);
	struct profile *p = profile_new();
	struct sink *to = profile_sink_new(p);
	struct source_ids ids;

	(void)state;
	front->fact(front, FACT_EVENT,
		    &(struct fact_event){ COLUMN_EVENT_1, text(front, "faults"), 3 });
	assert_false(segment_sink_is_large(s));
	for (uint32_t pid = 1; pid < 70000; pid++)
		front->thread(front, pid, pid, text(front, "x"));
	assert_true(segment_sink_is_large(s));
	segment_sink_turn(s, to);
	segment_sink_forget(s);
	assert_false(segment_sink_is_large(s));
	ids = begin(front, "worker");
	sample(front, &ids, 1);
	assert_segment(p, 1);
	profile_sink_free(to);
	profile_free(p);
	p = profile_new();
	to = profile_sink_new(p);
	segment_sink_turn(s, to);
	assert_int_equal(nr_rows(p, FACT_EVENT), 1);
	profile_sink_free(to);
	profile_free(p);
	segment_sink_free(s);
}

static void a_vocabulary_with_less_memory_is_large_sooner(void **state)
{
	struct segment_sink *s = segment_sink_new(3u << 20);
	struct sink *front = segment_sink_front(s);
	uint32_t pid = 0;

	(void)state;
	while (!segment_sink_is_large(s) && ++pid < 70000)
		front->thread(front, pid, pid, text(front, "x"));
	assert_true(pid > 6000 && pid < 7000);
	segment_sink_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_outlive_segments),
		cmocka_unit_test(without_a_segment_samples_are_counted),
		cmocka_unit_test(facts_of_processes_and_events_come_again),
		cmocka_unit_test(a_large_vocabulary_is_forgotten),
		cmocka_unit_test(a_vocabulary_with_less_memory_is_large_sooner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
