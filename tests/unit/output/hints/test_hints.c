/* The rules of hints are consistent, and hints know threads and times if a recording has them. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/hints/hint_rules.h"
#include "output/hints/hints.h"
#include "output/select/pattern.h"

static void every_rule_is_whole_and_every_pattern_compiles(void **state)
{
	uint32_t marks = 0;
	int nr = 0;

	(void)state;
	for (const struct hint_mark *m = hint_marks; m->bit; m++) {
		struct pattern pattern;
		char why[128] = "";

		marks |= m->bit;
		assert_int_equal(pattern_init(&pattern, m->pattern, why, sizeof(why)), 0);
		pattern_fini(&pattern);
	}
	for (const struct hint_rule *r = hint_rules; r->code; r++, nr++) {
		assert_true(*r->title && *r->remedy && r->columns && r->inner && r->min_percent);
		assert_int_equal((r->outer | r->inner | r->without) & ~marks, 0);
	}
	assert_in_range(nr, 1, 16);
}

static void add(struct profile *p, uint32_t thread, uint64_t ms, const char *const *names, int nr)
{
	uint32_t frames[4];

	for (int i = 0; i < nr; i++)
		frames[i] = profile_named_frame(p, names[i], strlen(names[i]), FUNCTION_PYTHON);
	profile_add_sample(p, &(struct profile_sample){
				      .time_ns = p->meta.start_ns + ms * 1000000,
				      .weight = 1000000,
				      .thread = thread,
				      .stack = profile_stack(p, frames, (size_t)nr),
				      .column = COLUMN_WALL,
			      });
}

/*
 * One thread waits for half of its time. Beside nine threads that only sleep, that is a twentieth
 * of all time.
 */
static void waiting_is_a_share_of_the_thread_that_waits(void **state)
{
	static const char *const wait[] = { "train (t.py:1)", "_get_data (dataloader.py:9)" };
	static const char *const import[] = { "train (t.py:1)",
					      "_find_and_load (<frozen importlib._bootstrap>:7)" };
	struct profile *p = profile_new();
	uint32_t comm = profile_cstring(p, "python");
	struct hints hints;

	(void)state;
	p->meta.start_ns = 5000000000;
	for (uint64_t ms = 0; ms < 1000; ms++) {
		uint32_t thread = profile_thread(p, 1, (uint32_t)(ms % 10) + 1, comm);

		if (thread == 0 && ms % 20)
			add(p, thread, ms, wait, 2);
		else
			add(p, thread, ms, import, ms < 400 ? 2 : 1);
	}
	hints_init(&hints, p);
	assert_int_equal(hints.nr, 2);
	assert_string_equal(hints.list[0].code, "data-wait");
	assert_int_equal(hints.list[0].samples, 50);
	assert_int_equal(hints.list[0].whole_samples, 100);
	assert_string_equal(hints.list[0].where, "train (t.py:1)");
	assert_int_equal(hints.list[0].last_ms, 0);
	assert_string_equal(hints.list[1].code, "imports");
	assert_int_equal(hints.list[1].whole_samples, 1000);
	assert_int_equal(hints.list[1].last_ms, 400);
	hints_fini(&hints);
	profile_free(p);
}

/* Adds idle time of a GPU for a reason, below a Python function. */
static void add_idle(struct profile *p, const char *reason, const char *function, uint64_t ns)
{
	uint32_t frame = profile_named_frame(p, function, strlen(function), FUNCTION_PYTHON);

	profile_add_sample(p, &(struct profile_sample){
				      .weight = ns,
				      .thread = profile_thread(p, 1, 0, profile_cstring(p, reason)),
				      .stack = profile_stack(p, &frame, 1),
				      .column = COLUMN_GPU_IDLE,
			      });
}

static void gpu_hints_are_exact_shares_of_the_time_of_all_gpus(void **state)
{
	/* of 1000 ns: idle, late, after a synchronization, copies, overlapped, exposed */
	static const struct {
		uint64_t idle, late, sync, copy, overlap, exposed;
		const char *codes;
	} cases[] = {
		{ 290, 0, 0, 0, 0, 0, "" },
		{ 300, 149, 99, 0, 0, 0, "gpu-idle" },
		{ 300, 150, 99, 0, 0, 0, "gpu-launch-bound" },
		{ 900, 149, 100, 0, 0, 0, "gpu-sync-bound" },
		{ 600, 400, 200, 0, 0, 0, "gpu-launch-bound gpu-sync-bound" },
		{ 0, 0, 0, 200, 101, 0, "" },
		{ 0, 0, 0, 200, 100, 99, "gpu-copies" },
		{ 0, 0, 0, 0, 0, 300, "gpu-communication" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = profile_new();
		struct fact_gpu_device d = { .pid = 1, .busy_ns = 500 - cases[i].idle / 2 };
		char codes[128] = "";
		struct hints hints;

		d.idle_ns = cases[i].idle / 2;
		d.copy_ns = cases[i].copy;
		d.overlap_ns = cases[i].overlap;
		d.exposed_ns = cases[i].exposed;
		facts_put(p, FACT_GPU_DEVICE, &d);
		d = (struct fact_gpu_device){ .pid = 2, .device = 1, .idle_ns = cases[i].idle / 2 };
		d.busy_ns = 500 - d.idle_ns;
		facts_put(p, FACT_GPU_DEVICE, &d);
		add_idle(p, "GPU 0 idle: launched late", "load (l.py:3)", cases[i].late);
		add_idle(p, "GPU 1 idle: after a synchronization", "step (s.py:9)", cases[i].sync);
		hints_init(&hints, p);
		for (size_t h = 0; h < hints.nr; h++) {
			strcat(strcat(codes, h ? " " : ""), hints.list[h].code);
			assert_int_equal(hints.list[h].whole, 1000);
			if (!strcmp(hints.list[h].code, "gpu-launch-bound")) {
				assert_int_equal(hints.list[h].weight, cases[i].late);
				assert_string_equal(hints.list[h].where, "load (l.py:3)");
			}
		}
		assert_string_equal(codes, cases[i].codes);
		hints_fini(&hints);
		profile_free(p);
	}
}

/* Two workers answer one loop: one loads for 90 % of its time, the other one for 20 %. */
static void a_starving_loop_names_its_busiest_worker(void **state)
{
	static const char *const wait[] = { "train (t.py:1)", "_get_data (dataloader.py:9)" };
	static const char *const load[] = { "_worker_loop (worker.py:2)", "fetch (fetch.py:3)",
					    "decode (d.py:7)" };
	static const char *const idle[] = { "_worker_loop (worker.py:2)", "get (queues.py:3)" };
	struct profile *p = profile_new();
	uint32_t comm = profile_cstring(p, "python"), threads[3];
	struct hints hints;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = profile_thread(p, 10 + i, 10 + i, comm);
	for (uint64_t ms = 0; ms < 100; ms++) {
		add(p, threads[0], ms, wait, 2);
		add(p, threads[1], ms, ms % 10 ? load : idle, ms % 10 ? 3 : 2);
		add(p, threads[2], ms, ms % 5 ? idle : load, ms % 5 ? 2 : 3);
	}
	hints_init(&hints, p);
	assert_string_equal(hints.list[0].code, "data-wait");
	assert_int_equal(hints.list[0].nr_workers, 2);
	assert_int_equal(hints.list[0].busiest.pid, 11);
	assert_int_equal(hints.list[0].busiest.loading, 90000000);
	assert_int_equal(hints.list[0].busiest.whole, 100000000);
	assert_int_equal(hints.list[0].idlest.pid, 12);
	assert_int_equal(hints.list[0].idlest.loading, 20000000);
	assert_string_equal(hints.list[0].worker_where, "decode (d.py:7)");
	hints_fini(&hints);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_is_whole_and_every_pattern_compiles),
		cmocka_unit_test(waiting_is_a_share_of_the_thread_that_waits),
		cmocka_unit_test(a_starving_loop_names_its_busiest_worker),
		cmocka_unit_test(gpu_hints_are_exact_shares_of_the_time_of_all_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
