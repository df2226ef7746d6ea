/* Stacks of the timer source that lack an unwind table which is being built wait for it. */
// BUILD: -Wl,--wrap=timer_region_read -Wl,--wrap=source_unwind
// BUILD: -Wl,--wrap=snapshot_table_is_coming -Wl,--wrap=table_builder_wait
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "sampler/agent/region.h"
#include "sampler/sink/limits.h"
#include "sampler/timer/drain.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/snapshot_lookup.h"

#define MODULE 5 /* whose table is being built while table_is_coming is set */

static bool table_is_coming;
static unsigned int nr_whole; /* unwound with the table, or without it */

static struct {
	struct agent_sample sample;
	bool is_new;
} next;

size_t __wrap_timer_region_read(struct timer_region *region,
				void (*fn)(void *context, const struct agent_sample *sample,
					   const uint64_t *words, size_t nr_words),
				void *context)
{
	uint64_t words[sizeof(struct agent_snapshot) / sizeof(uint64_t)] = { 0 };

	(void)region;
	if (!next.is_new)
		return 0;
	next.is_new = false;
	fn(context, &next.sample, words,
	   next.sample.type == AGENT_SNAPSHOT ? sizeof(words) / sizeof(*words) : 0);
	return 1;
}

struct snapshot_result __wrap_source_unwind(struct source_unwinder *u,
					    const struct snapshot_sample *sample, uint64_t *frames,
					    size_t max)
{
	(void)u, (void)max;
	if (sample->may_wait && table_is_coming)
		return (struct snapshot_result){ .awaited = MODULE };
	nr_whole++;
	frames[0] = 0x1000;
	return (struct snapshot_result){ .nr = 1, .marker = MARKER_NO_RULE };
}

bool __wrap_snapshot_table_is_coming(const struct file_table *files, uint64_t module)
{
	(void)files;
	assert_int_equal(module, MODULE);
	return table_is_coming;
}

/* No table comes before the recording ends. */
bool __wrap_table_builder_wait(void)
{
	return false;
}

struct fixture {
	struct timer_processes processes;
	struct limits limits;
	struct profile_stats stats;
	struct profile *profile;
	struct sink *sink;
	struct timer_process *process;
	struct timer_drain *drain;
};

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	*state = f;
	nr_whole = 0;
	table_is_coming = true;
	f->profile = profile_new();
	f->sink = profile_sink_new(f->profile);
	f->processes.limits = &f->limits;
	f->process = xcalloc(1, sizeof(*f->process));
	f->process->maps.pid = getpid();
	f->process->region.fd = -1;
	process_new_epoch(&f->process->maps);
	timer_threads_init(f->process, UINT64_MAX);
	f->processes.first = f->process;
	f->drain = timer_drain_new(&f->processes, &f->stats, NULL);
	timer_drain_set_sink(f->drain, f->sink);
	timer_drain_start(f->drain);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->processes.first)
		timer_drop_process(&f->processes, f->process);
	timer_drain_free(f->drain);
	limits_fini(&f->limits);
	profile_sink_free(f->sink);
	profile_free(f->profile);
	free(f);
	return 0;
}

/* Has the drain read a record of that time, and handle what is older than before_ns. */
static void read_record(struct fixture *f, enum agent_record type, uint64_t time_ns,
			uint64_t before_ns)
{
	next.sample = (struct agent_sample){
		.type = (uint16_t)type,
		.tid = getpid(),
		.time_ns = time_ns,
		.weight_ns = 1000,
	};
	next.is_new = true;
	timer_drain_read(f->drain, before_ns);
}

static void take(struct fixture *f, enum agent_record type)
{
	read_record(f, type, monotonic_ns(), UINT64_MAX);
}

static void a_stack_waits_for_the_table_that_it_lacks(void **state)
{
	struct fixture *f = *state;

	take(f, AGENT_SNAPSHOT);
	timer_drain_read(f->drain, UINT64_MAX);
	assert_int_equal(f->profile->nr_samples, 0);
	table_is_coming = false;
	timer_drain_read(f->drain, UINT64_MAX);
	assert_int_equal(nr_whole, 1);
	assert_int_equal(f->profile->nr_samples, 1);
	assert_int_equal(f->stats.nr_snapshots, 1);
}

static void the_last_cpu_time_of_a_thread_waits_with_its_stack(void **state)
{
	struct fixture *f = *state;

	take(f, AGENT_SNAPSHOT);
	take(f, AGENT_REST);
	assert_int_equal(f->profile->nr_samples, 0);
	table_is_coming = false;
	timer_drain_read(f->drain, UINT64_MAX);
	assert_int_equal(f->profile->nr_samples, 2);
	assert_int_equal(f->profile->samples[0].stack, f->profile->samples[1].stack);
}

static void what_waits_is_told_before_its_process_is_forgotten(void **state)
{
	struct fixture *f = *state;

	take(f, AGENT_SNAPSHOT);
	timer_drop_process(&f->processes, f->process);
	assert_int_equal(f->profile->nr_samples, 1);
	assert_int_equal(nr_whole, 1);
}

/* The process claims that it wrote its last records in the future, so they stay in the queue. */
static void drop_with_queued_records(struct fixture *f)
{
	uint64_t before = monotonic_ns();

	read_record(f, AGENT_SNAPSHOT, UINT64_MAX, before);
	read_record(f, AGENT_REST, UINT64_MAX, before);
	assert_int_equal(f->profile->nr_samples, 0);
	assert_int_equal(nr_whole, 0);
	timer_drop_process(&f->processes, f->process);
	assert_int_equal(f->profile->nr_samples, 2);
	assert_int_equal(f->profile->samples[0].stack, f->profile->samples[1].stack);
	assert_int_equal(nr_whole, 1);
	timer_drain_read(f->drain, UINT64_MAX);
	timer_drain_finish(f->drain);
	assert_int_equal(f->profile->nr_samples, 2);
}

static void what_is_queued_is_told_before_its_process_is_forgotten(void **state)
{
	table_is_coming = false;
	drop_with_queued_records(*state);
}

static void what_is_queued_does_not_outlive_its_process_by_waiting(void **state)
{
	drop_with_queued_records(*state);
}

static void what_waits_is_told_at_the_end(void **state)
{
	struct fixture *f = *state;

	take(f, AGENT_SNAPSHOT);
	timer_drain_finish(f->drain);
	assert_int_equal(f->profile->nr_samples, 1);
	assert_int_equal(nr_whole, 1);
}

#define WITH_PROCESS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PROCESS(a_stack_waits_for_the_table_that_it_lacks),
		WITH_PROCESS(the_last_cpu_time_of_a_thread_waits_with_its_stack),
		WITH_PROCESS(what_waits_is_told_before_its_process_is_forgotten),
		WITH_PROCESS(what_is_queued_is_told_before_its_process_is_forgotten),
		WITH_PROCESS(what_is_queued_does_not_outlive_its_process_by_waiting),
		WITH_PROCESS(what_waits_is_told_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
