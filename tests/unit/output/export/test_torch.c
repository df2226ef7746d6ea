/*
 * Which range GPU work was launched in, against a search through all ranges, and which file a
 * process gets.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/export/torch_parts.h"
#include "output/export/torch_ranges.h"

enum { NR_ACTIVITIES = 80, NR_ROUNDS = 300, PID = 7 };

static uint64_t below(uint64_t n)
{
	return (uint64_t)rand() % n;
}

static void add_run(struct profile *p, uint32_t thread, uint64_t start, uint64_t end)
{
	const struct fact_range_run run = {
		.pid = PID,
		.range = 1,
		.thread = thread,
		.start_ns = start,
		.duration_ns = end - start,
	};

	facts_put(p, FACT_RANGE_RUN, &run);
}

/* Ranges inside each other, at times that no two share. */
static void add_nested(struct profile *p, uint32_t thread, uint64_t start, uint64_t end, int depth)
{
	uint64_t at = start + 2;

	add_run(p, thread, start, end);
	while (depth && at + 100 < end) {
		uint64_t from = at + below(50) * 2, to = from + 20 + below(40) * 2;

		if (to + 2 >= end)
			break;
		add_nested(p, thread, from, to, depth - 1);
		at = to + 2;
	}
}

static void add_activity(struct profile *p, uint32_t thread, uint64_t call, uint64_t stream)
{
	uint64_t start = call + 1 + below(1000);
	const struct fact_gpu_activity a = {
		.pid = PID,
		.thread = thread,
		.device = below(2),
		.stream = stream,
		.kind = GPU_WORK_KERNEL,
		.start_ns = start,
		.duration_ns = below(500),
		.call_ahead_ns = start - call,
	};

	facts_put(p, FACT_GPU_ACTIVITY, &a);
}

/* The innermost range around the call, looked for among all. */
static uint32_t search(const struct torch_ranges *r, const struct fact_gpu_activity *a)
{
	uint64_t call = a->start_ns - a->call_ahead_ns;
	uint32_t found = 0;

	for (size_t i = 0; i < r->nr; i++)
		if (r->list[i].thread == a->thread && r->list[i].start_ns <= call &&
		    r->list[i].end_ns >= call &&
		    (!found || r->list[i].start_ns > r->list[found - 1].start_ns))
			found = (uint32_t)i + 1;
	return found;
}

/* Checks the time on one stream that a range shows as its work. */
static void check_extent(const struct torch_ranges *r, const struct torch_extent *e,
			 const struct fact_gpu_activity *rows, size_t nr)
{
	const struct torch_range *range = &r->list[e->range];
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t call = rows[i].start_ns - rows[i].call_ahead_ns;

		if (rows[i].thread != range->thread || call < range->start_ns ||
		    call > range->end_ns || rows[i].device != e->device ||
		    rows[i].stream != e->stream)
			continue;
		start = rows[i].start_ns < start ? rows[i].start_ns : start;
		end = rows[i].start_ns + rows[i].duration_ns > end
			      ? rows[i].start_ns + rows[i].duration_ns
			      : end;
	}
	assert_int_equal(e->start_ns, start);
	assert_int_equal(e->end_ns, end);
}

static void work_belongs_to_the_innermost_range_around_its_call(void **state)
{
	(void)state;
	srand(5);
	for (int round = 0; round < NR_ROUNDS; round++) {
		struct profile *p = profile_new();
		const struct fact_gpu_activity *rows;
		struct torch_ranges r;
		size_t nr;

		profile_thread(p, PID, 1, 0);
		profile_thread(p, PID, 2, 0);
		for (uint32_t t = 0; t < 2; t++)
			for (int i = 0; i < 3; i++)
				add_nested(p, t, 1000 + (uint64_t)i * 2000,
					   2800 + (uint64_t)i * 2000, (int)below(4));
		for (int i = 0; i < NR_ACTIVITIES; i++)
			add_activity(p, (uint32_t)below(2), 901 + below(3500) * 2, below(3));
		torch_ranges_init(&r, p, PID);
		rows = facts_rows(p, FACT_GPU_ACTIVITY, &nr);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(torch_ranges_of(&r, i), search(&r, &rows[i]));
		for (size_t i = 0; i < r.nr_extents; i++)
			check_extent(&r, &r.extents[i], rows, nr);
		torch_ranges_fini(&r);
		profile_free(p);
	}
}

static void ranges_and_streams_without_end_are_bounded(void **state)
{
	struct profile *p = profile_new();
	struct torch_ranges r;

	(void)state;
	profile_thread(p, PID, 1, 0);
	for (uint64_t i = 0; i < 5000; i++)
		add_run(p, 0, 1000 + i, 1000000 - i);
	for (uint64_t i = 0; i < 5000; i++)
		add_activity(p, 0, 500000, i);
	torch_ranges_init(&r, p, PID);
	assert_int_equal(r.nr, 5000);
	assert_in_range(r.nr_extents, 1, 128 * 32);
	torch_ranges_fini(&r);
	profile_free(p);
}

static void put_process(struct profile *p, uint64_t pid, int rank, uint64_t nr_ranks)
{
	const struct fact_gpu_activity a = { .pid = pid, .kind = GPU_WORK_KERNEL };
	const struct fact_rank row = { .pid = pid, .rank = (uint64_t)rank, .nr_ranks = nr_ranks };

	facts_put(p, FACT_GPU_ACTIVITY, &a);
	if (rank >= 0)
		facts_put(p, FACT_RANK, &row);
}

static void each_process_gets_a_rank_of_its_own(void **state)
{
	struct profile *p = profile_new();
	struct torch_part *parts;
	size_t nr;

	(void)state;
	parts = torch_parts(p, &nr);
	assert_true(nr == 1 && parts[0].pid == PROFILE_NONE && parts[0].nr_ranks == 1);
	free(parts);
	put_process(p, 10, 2, 8);
	put_process(p, 11, -1, 0);
	put_process(p, 12, 0, 8);
	put_process(p, 13, 2, 8); /* of another recording of the job */
	parts = torch_parts(p, &nr);
	assert_int_equal(nr, 4);
	assert_true(parts[0].pid == 12 && parts[0].rank == 0 && parts[0].nr_ranks == 8);
	assert_true(parts[1].pid == 13 && parts[1].rank == 1 && parts[1].nr_ranks == 8);
	assert_true(parts[2].pid == 10 && parts[2].rank == 2);
	assert_true(parts[3].pid == 11 && parts[3].rank == 3 && parts[3].nr_ranks == 4);
	free(parts);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_belongs_to_the_innermost_range_around_its_call),
		cmocka_unit_test(ranges_and_streams_without_end_are_bounded),
		cmocka_unit_test(each_process_gets_a_rank_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
