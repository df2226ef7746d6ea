/* Occupancy over time, against a search through all kernels at each moment. */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/report/occupancy_steps.h"
#include "output/report/occupancy.h"

enum { NR_ROUNDS = 300, NR_ACTIVITIES = 60, LAST_NS = 400 };

static uint64_t below(uint64_t n)
{
	return (uint64_t)rand() % n;
}

static void add_device(struct profile *p, uint64_t pid, uint64_t device)
{
	const struct fact_gpu_device row = {
		.pid = pid,
		.device = device,
		.cc_major = 9,
		.nr_sms = 4,
		.warp_threads = 32,
		.max_warps_per_sm = 64,
		.max_blocks_per_sm = 32,
		.max_registers_per_sm = 65536,
		.max_shared_per_sm = 233472,
	};

	facts_put(p, FACT_GPU_DEVICE, &row);
}

static void add_activity(struct profile *p, uint64_t kind)
{
	const struct fact_gpu_activity a = {
		.pid = 7 + below(2),
		.device = below(2),
		.kind = kind,
		.start_ns = below(LAST_NS - 100),
		.duration_ns = below(100),
		.grid = { below(40), 1 + below(4), 1 }, /* 0: its shape is not known */
		.block = { 1 + below(300), 1, 1 },
		.registers = 16 + below(200),
		.shared_bytes = below(20000),
	};

	facts_put(p, FACT_GPU_ACTIVITY, &a);
}

/* What the GPU of a process is filled with at a moment. */
static struct occupancy_step search(const struct profile *p, uint64_t pid, uint64_t device,
				    uint64_t time_ns)
{
	struct occupancy_step at = { .ppm = 0 };
	const struct fact_gpu_activity *rows;
	size_t nr;

	rows = facts_rows(p, FACT_GPU_ACTIVITY, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct fact_gpu_activity *a = &rows[i];
		const struct fact_gpu_device *d = facts_gpu_device(p, pid, device);
		bool is_kernel = a->kind == GPU_WORK_KERNEL;
		unsigned ppm;

		if (a->pid != pid || a->device != device || a->start_ns > time_ns ||
		    a->start_ns + a->duration_ns <= time_ns)
			continue;
		if (is_kernel && d && occupancy_of_launch(d, a, &ppm))
			at.ppm += ppm;
		else if (is_kernel || a->kind == GPU_WORK_GRAPH)
			at.unknown++;
	}
	at.ppm = at.ppm < 1000000 ? at.ppm : 1000000;
	return at;
}

/* Follows the steps of one GPU through every nanosecond. Returns their number. */
static size_t check_gpu(const struct profile *p, const struct occupancy_step *steps, size_t nr,
			uint64_t pid, uint64_t device)
{
	struct occupancy_step now = { .ppm = 0 };
	size_t passed = 0;

	for (uint64_t t = 0; t <= LAST_NS; t++) {
		const struct occupancy_step want = search(p, pid, device, t);

		for (size_t i = 0; i < nr; i++) {
			if (steps[i].pid != pid || steps[i].device != device ||
			    steps[i].time_ns != t)
				continue;
			assert_true(!passed || steps[i].ppm != now.ppm ||
				    steps[i].unknown != now.unknown);
			now = steps[i];
			passed++;
		}
		assert_int_equal(now.ppm, want.ppm);
		assert_int_equal(now.unknown, want.unknown);
	}
	return passed;
}

static void occupancy_is_the_sum_of_what_runs_at_each_moment(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < NR_ROUNDS; round++) {
		struct profile *p = profile_new();
		struct occupancy_step *steps;
		size_t nr, passed = 0;

		for (uint64_t pid = 7; pid < 9; pid++) /* one GPU of four is not known */
			for (uint64_t device = 0; device < 2; device++)
				if (pid == 7 || !device)
					add_device(p, pid, device);
		for (uint64_t i = below(NR_ACTIVITIES); i; i--)
			add_activity(p, GPU_WORK_KERNEL + below(GPU_WORK_SYNC));
		steps = occupancy_steps(p, &nr);
		for (uint64_t pid = 7; pid < 9; pid++)
			for (uint64_t device = 0; device < 2; device++)
				passed += check_gpu(p, steps, nr, pid, device);
		assert_int_equal(passed, nr);
		free(steps);
		profile_free(p);
	}
}

static void hostile_times_and_shapes_do_no_harm(void **state)
{
	struct profile *p = profile_new();
	struct fact_gpu_activity a = {
		.pid = 7,
		.kind = GPU_WORK_KERNEL,
		.start_ns = UINT64_MAX - 5,
		.duration_ns = UINT64_MAX,
		.grid = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
		.block = { 256, 1, 1 },
		.registers = UINT64_MAX,
		.shared_bytes = 0,
	};
	struct occupancy_step *steps;
	size_t nr;

	(void)state;
	add_device(p, 7, 0);
	facts_put(p, FACT_GPU_ACTIVITY, &a);
	a.block[0] = UINT64_MAX;
	facts_put(p, FACT_GPU_ACTIVITY, &a);
	steps = occupancy_steps(p, &nr);
	assert_int_equal(nr, 2);
	assert_true(steps[0].time_ns == UINT64_MAX - 5 && steps[0].ppm == 1000000);
	assert_int_equal(steps[0].unknown, 1);
	assert_true(steps[1].time_ns == UINT64_MAX && !steps[1].ppm && !steps[1].unknown);
	free(steps);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(occupancy_is_the_sum_of_what_runs_at_each_moment),
		cmocka_unit_test(hostile_times_and_shapes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
