/*
 * Jobs whose late rank is known: eight ranks on two hosts whose clocks differ, sums over all of
 * them and gathers of pairs, recordings that begin at different times, and records that were lost.
 */
#include "output/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/ranks/ranks_write.h"
#include "tests/unit/unit.h"

enum { NR_RANKS = 8, NR_STEPS = 60, STREAM_ALL = 20, STREAM_PAIR = 24 };

#define US 1000ll
#define MS 1000000ll
#define LATE_NS (20 * MS)

struct job {
	struct profile *profiles[NR_RANKS];
	int64_t now[NR_RANKS];	  /* of the true time */
	int64_t boot[NR_RANKS];	  /* CLOCK_MONOTONIC of its host is true time less this */
	int first_step[NR_RANKS]; /* of the recording */
	unsigned int lost;	  /* one record in so many; 0 = none */
	int late_rank, late_step;
};

static int64_t random_ns(int64_t most)
{
	return (int64_t)(((uint64_t)rand() << 31 | (uint64_t)rand()) % (uint64_t)most);
}

static void add_op(struct job *j, int rank, int step, uint64_t stream, const char *name,
		   int64_t start, int64_t end)
{
	struct profile *p = j->profiles[rank];
	struct fact_collective row = {
		.pid = 100, /* in containers all have one number */
		.thread = profile_thread(p, 100, 100, profile_cstring(p, "train")),
		.way = COLLECTIVE_GPU,
		.lane = stream + (uint64_t)rank, /* streams have no number in common */
		.name = profile_cstring(p, name),
		.start_ns = (uint64_t)(start - j->boot[rank]),
		.duration_ns = (uint64_t)(end - start),
		.call_ahead_ns = 20 * US,
		.stack = PROFILE_NONE,
	};
	bool is_lost = j->lost && rand() % (int)j->lost == 0 && step != j->late_step;

	if (step >= j->first_step[rank] && !is_lost)
		facts_put(p, FACT_COLLECTIVE, &row);
}

/* A collective of `nr` ranks from `first` on: all end with the last. */
static void collect(struct job *j, int step, int first, int nr, uint64_t stream, const char *name)
{
	int64_t last = 0;

	for (int r = first; r < first + nr; r++)
		last = j->now[r] > last ? j->now[r] : last;
	for (int r = first; r < first + nr; r++) {
		int64_t end = last + 15 * US + random_ns(3 * US);

		add_op(j, r, step, stream, name, j->now[r], end);
		j->now[r] = end;
	}
}

static void run_step(struct job *j, int step)
{
	for (int r = 0; r < NR_RANKS; r++)
		j->now[r] += 300 * US + random_ns(400 * US) +
			     (r == j->late_rank && step == j->late_step ? LATE_NS : 0);
	collect(j, step, 0, NR_RANKS, STREAM_ALL,
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x<4096ul>)");
	for (int r = 0; r < NR_RANKS; r += 2) {
		for (int k = 0; k < 2; k++)
			j->now[r + k] += 100 * US + random_ns(100 * US);
		collect(j, step, r, 2, STREAM_PAIR, "ncclDevKernel_AllGather_RING_LL(x)");
	}
}

static void make(struct job *j, unsigned int seed, int nr_hosts, unsigned int lost)
{
	const int64_t epoch = 1700000000ll * 1000 * MS;
	int64_t boots[2];

	srand(seed);
	*j = (struct job){ .lost = lost };
	j->late_rank = rand() % NR_RANKS;
	j->late_step = 10 + rand() % (NR_STEPS - 10);
	for (int h = 0; h < 2; h++)
		boots[h] = epoch - 3600ll * 1000 * MS - random_ns(1000000 * MS);
	for (int r = 0; r < NR_RANKS; r++) {
		int host = nr_hosts == 2 ? r / 4 : 0;
		struct profile *p = j->profiles[r] = profile_new();
		/* the time of day of the second host is wrong by some ms */
		int64_t wrong = host ? random_ns(10 * MS) - 5 * MS : 0;
		struct fact_rank rank = { .pid = 100, .rank = (uint64_t)r, .nr_ranks = NR_RANKS };

		facts_put(p, FACT_RANK, &rank);
		p->meta.hostname = profile_cstring(p, host ? "b" : "a");
		p->meta.start_ns = (uint64_t)(epoch - boots[host]);
		p->meta.start_realtime_ns = (uint64_t)(epoch + wrong);
		j->boot[r] = boots[host];
		j->now[r] = epoch + random_ns(50 * MS);
		j->first_step[r] = rand() % 4;
	}
	for (int step = 0; step < NR_STEPS; step++)
		run_step(j, step);
}

static struct ranks *compare(struct job *j)
{
	struct ranks *r = ranks_new();

	for (int i = NR_RANKS; i--;) /* in any order */
		ranks_add(r, j->profiles[i]);
	ranks_align(r);
	return r;
}

static void job_free(struct job *j)
{
	for (int i = 0; i < NR_RANKS; i++)
		profile_free(j->profiles[i]);
}

static void expect_found(unsigned int seed, int nr_hosts, unsigned int lost)
{
	const int64_t error = nr_hosts == 2 ? 800 * US : 700 * US; /* what ranks differ in anyway */
	struct job j;
	struct ranks *r;
	const struct rank_collective *c;

	make(&j, seed, nr_hosts, lost);
	r = compare(&j);
	assert_int_equal(r->nr, NR_RANKS);
	assert_int_equal(r->nr_clocks, nr_hosts);
	assert_int_equal(r->nr_communicators, 1 + NR_RANKS / 2);
	assert_true(r->nr_collectives > (size_t)(lost ? 2 : 4) * NR_STEPS);
	c = &r->collectives[0];
	assert_string_equal(r->names[c->name], "AllReduce");
	assert_int_equal(r->list[c->last].number, j.late_rank);
	assert_true((int64_t)c->late_ns > LATE_NS - error && (int64_t)c->late_ns < LATE_NS + error);
	assert_true((int64_t)r->collectives[1].late_ns < 2 * MS);
	if (nr_hosts == 2) {
		assert_true(r->clocks[1].nr_ends >= 4);
		assert_true(r->clocks[1].spread_ns < 5 * US);
		/* rank 7 was added first, so its host's clock is that of the result */
		assert_true(llabs(r->clocks[1].shift_ns - (j.boot[0] - j.boot[7])) < 5 * US);
	}
	ranks_free(r);
	job_free(&j);
}

static void a_delay_is_found_on_one_host(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 100; seed++)
		expect_found(seed, 1, 0);
}

static void a_delay_is_found_across_clocks(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 100; seed++)
		expect_found(seed, 2, 0);
}

/* On one clock: where an operation of a lane is missing, the others still overlap. */
static void lost_records_do_not_shift_the_others(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 100; seed++)
		expect_found(seed, 1, 100);
}

/* What rows of a damaged file may hold. */
static void any_numbers_are_compared_without_overflow(void **state)
{
	static const uint64_t odd[] = {
		0, 1, INT64_MAX, UINT64_MAX, UINT64_MAX / 2 + 1, 1ull << 60
	};
	const struct ranks_write_opts opts = { 0 };
	struct buffer b = { 0 };

	(void)state;
	for (unsigned int seed = 0; seed < 300; seed++) {
		struct profile *p = profile_new();
		struct ranks *r = ranks_new();

		srand(seed);
		p->meta.start_ns = odd[rand() % 6];
		p->meta.start_realtime_ns = odd[rand() % 6];
		for (int i = 0; i < 40; i++) {
			struct fact_collective row = {
				.pid = odd[rand() % 3],
				.thread = PROFILE_NONE,
				.way = (uint64_t)(rand() % 3),
				.lane = (uint64_t)(rand() % 2),
				.start_ns = odd[rand() % 6],
				.duration_ns = odd[rand() % 6],
				.call_ahead_ns = odd[rand() % 6],
				.stack = PROFILE_NONE,
			};

			facts_put(p, FACT_COLLECTIVE, &row);
		}
		ranks_add(r, p);
		ranks_align(r);
		ranks_write(&b, r, &opts);
		ranks_write_json(&b, r, &opts);
		ranks_free(r);
		profile_free(p);
	}
	buffer_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delay_is_found_on_one_host),
		cmocka_unit_test(a_delay_is_found_across_clocks),
		cmocka_unit_test(lost_records_do_not_shift_the_others),
		cmocka_unit_test(any_numbers_are_compared_without_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
