/*
 * Busy and idle time of devices, and what the idle time is blamed on. The sums are compared with an
 * array that has an entry for every nanosecond.
 */
#include "tests/unit/gpu_setup.h"

#include "core/profile/source.h"

enum { SPAN = 4000 };

static const struct fact_gpu_device *device(const struct profile *p, uint64_t number)
{
	const struct fact_gpu_device *d;
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	for (size_t i = 0; i < nr; i++)
		if (d[i].device == number)
			return &d[i];
	return NULL;
}

/* Idle time by reason and stack: "reason | stack". */
static uint64_t idle_of(const struct profile *p, const char *what)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		char text[256];

		if (s->column != COLUMN_GPU_IDLE)
			continue;
		snprintf(text, sizeof(text), "%s | %s", profile_str(p, p->threads[s->thread].comm),
			 name_stack(p, s));
		ns += strcmp(text, what) ? 0 : s->weight;
	}
	return ns;
}

static void sums_equal_those_of_an_array_of_nanoseconds(void **state)
{
	static const char *const communication[] = {
		"ncclDevKernel_AllReduce_Sum_f32", "ncclKernel_AllReduce_RING_LL_Sum_float",
		"ncclSymDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_f32",
		"ncclSymkDevKernel_AllGather_LL", "nvshmemi_transfer_rma"
	};

	(void)state;
	srandom(3);
	for (int round = 0; round < 200; round++) {
		static struct {
			uint8_t kernel, nccl, copy;
		} at[SPAN];
		uint64_t busy = 0, kernel = 0, copy = 0, overlap = 0, exposed = 0;
		uint32_t gemm, nccl, nr = (uint32_t)random() % 60;
		const struct fact_gpu_device *d;
		struct setup s = { 0 };

		memset(at, 0, sizeof(at));
		test_region_init(&s.region);
		gemm = test_string(&s.region, "gemm");
		nccl = test_string(&s.region, communication[round % 5]);
		start(&s);
		s.region.header->active_ns = 1000000;
		for (uint32_t i = 0; i < nr; i++) {
			uint64_t from = (uint64_t)random() % (SPAN - 200);
			uint64_t ns = (uint64_t)random() % 100;
			struct gpu_work w = { .start_ns = 1000000 + from,
					      .end_ns = 1000000 + from + ns,
					      .correlation = i + 1 };
			int what = (int)(random() % 3);

			if (what == 2)
				emit_copy(&s.region, &w);
			else
				emit_kernel(&s.region, &w, what ? nccl : gemm);
			for (uint64_t k = from; k < from + ns; k++) {
				at[k].kernel |= what == 0;
				at[k].nccl |= what == 1;
				at[k].copy |= what == 2;
			}
			if (random() % 10 == 0)
				gpu_collect_drain(s.c, 1000000 + from);
		}
		gpu_collect_finish(s.c, 1000000 + SPAN);
		for (int k = 0; k < SPAN; k++) {
			bool any_kernel = at[k].kernel || at[k].nccl;

			busy += any_kernel || at[k].copy;
			kernel += any_kernel;
			copy += at[k].copy;
			overlap += any_kernel && at[k].copy;
			exposed += at[k].nccl && !at[k].kernel;
		}
		d = device(s.p, 0);
		assert_int_equal(d != NULL, nr > 0);
		if (d) {
			assert_int_equal(d->busy_ns, busy);
			assert_int_equal(d->idle_ns, SPAN - busy);
			assert_int_equal(d->end_ns - d->start_ns, SPAN);
			assert_int_equal(d->kernel_ns, kernel);
			assert_int_equal(d->copy_ns, copy);
			assert_int_equal(d->overlap_ns, overlap);
			assert_int_equal(d->exposed_ns, exposed);
			assert_int_equal(sum_of(s.p, COLUMN_GPU_IDLE), SPAN - busy);
		}
		finish(&s);
	}
}

/* Watched from 1000 to 2000. A kernel runs from 1000 to 1100, and another ends the gap at 1500. */
static void start_with_gap(struct setup *s)
{
	test_region_init(&s->region);
	start(s);
	s->region.header->active_ns = 1000;
	s->region.header->stopped_ns = 2000;
	emit_kernel(&s->region, &(struct gpu_work){ .start_ns = 1000, .end_ns = 1100 }, 0);
}

static void emit_second(struct setup *s, uint32_t stack)
{
	emit_kernel(&s->region,
		    &(struct gpu_work){
			    .start_ns = 1500, .end_ns = 2000, .correlation = 9, .stack = stack },
		    0);
	gpu_collect_finish(s->c, 5000);
	assert_int_equal(sum_of(s->p, COLUMN_GPU_IDLE), 400);
	assert_int_equal(sum_of(s->p, COLUMN_GPU_GAPS), 1);
	assert_int_equal(device(s->p, 0)->busy_ns, 600);
}

static void late_launch_is_blamed_on_the_stack_that_was_late(void **state)
{
	struct setup s = { 0 };
	uint32_t stack;

	(void)state;
	start_with_gap(&s);
	stack = one_frame(&s.region, 0x2000);
	emit_call(&s.region, GPU_API_LAUNCH, 9, 1450, 1460, stack);
	emit_second(&s, stack);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launched late | train+0x2000"), 350);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launch latency | train+0x2000"), 50);
	finish(&s);
}

static void time_in_a_synchronization_is_blamed_on_it(void **state)
{
	struct setup s = { 0 };
	uint32_t stack, wait;

	(void)state;
	start_with_gap(&s);
	stack = one_frame(&s.region, 0x2000);
	wait = one_frame(&s.region, 0x3000);
	emit_call(&s.region, GPU_API_SYNC, 8, 900, 1180, wait);
	emit_call(&s.region, GPU_API_LAUNCH, 9, 1450, 1460, stack);
	emit_second(&s, stack);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: after a synchronization | train+0x3000"), 80);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launched late | train+0x2000"), 270);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launch latency | train+0x2000"), 50);
	finish(&s);
}

static void work_that_was_queued_waited_for_the_gpu(void **state)
{
	static const struct {
		uint64_t start_ns, end_ns;
		const char *what;
	} calls[] = {
		{ 1010, 1020, "GPU 0 idle: queued, waiting for other work | train+0x2000" },
		{ 1050, 1200, "GPU 0 idle: launch latency | train+0x2000" },
		{ 0, 0, "GPU 0 idle: launch not seen | train+0x2000" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct setup s = { 0 };
		uint32_t stack;

		start_with_gap(&s);
		stack = one_frame(&s.region, 0x2000);
		if (calls[i].start_ns)
			emit_call(&s.region, GPU_API_LAUNCH, 9, calls[i].start_ns, calls[i].end_ns,
				  stack);
		emit_second(&s, stack);
		assert_int_equal(idle_of(s.p, calls[i].what), 400);
		finish(&s);
	}
}

static void gap_between_nodes_of_one_graph_launch_is_the_graphs(void **state)
{
	struct gpu_work node = { .start_ns = 1100, .end_ns = 1200, .correlation = 5, .graph = 3 };
	struct setup s = { 0 };

	(void)state;
	start_with_gap(&s);
	emit_call(&s.region, GPU_API_GRAPH_LAUNCH, 5, 1010, 1020, 0);
	emit_kernel(&s.region, &node, 0);
	node.start_ns = 1300;
	node.end_ns = 2000;
	emit_kernel(&s.region, &node, 0);
	gpu_collect_finish(s.c, 5000);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: inside a graph | [launch not seen]"), 100);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_IDLE), 100);
	finish(&s);
}

/* Without the launch two nodes may be of two launches: the gap is not inside a graph. */
static void gap_before_a_node_whose_launch_is_not_known_is_nobodys(void **state)
{
	struct gpu_work node = { .start_ns = 1100, .end_ns = 1200, .graph = 3 };
	struct setup s = { 0 };

	(void)state;
	start_with_gap(&s);
	emit_kernel(&s.region, &node, 0);
	node.start_ns = 1300;
	node.end_ns = 2000;
	emit_kernel(&s.region, &node, 0);
	gpu_collect_finish(s.c, 5000);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launch not seen | [launch not seen]"), 100);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_IDLE), 100);
	finish(&s);
}

static void samples_of_the_late_thread_share_its_time(void **state)
{
	const uint64_t ms = 1000000;
	struct gpu_work first = { .start_ns = 1000 * ms, .end_ns = 1100 * ms };
	struct gpu_work second = { .start_ns = 1500 * ms, .end_ns = 1600 * ms, .correlation = 9 };
	uint32_t stacks[2], module, frames[2];
	struct profile_module program = { .kind = MODULE_ELF };
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = 1000 * ms;
	program.path = s.sink->string(s.sink, "python", 6);
	module = s.sink->module(s.sink, &program);
	for (uint32_t i = 0; i < 2; i++) {
		frames[i] = s.sink->frame(s.sink, module, i);
		stacks[i] = s.sink->stack(s.sink, &frames[i], 1);
	}
	gpu_collect_cpu_sample(s.c, 77, 1050 * ms, stacks[1]); /* before the gap */
	gpu_collect_cpu_sample(s.c, 77, 1200 * ms, stacks[0]);
	gpu_collect_cpu_sample(s.c, 78, 1250 * ms, stacks[1]); /* another thread */
	gpu_collect_cpu_sample(s.c, 77, 1300 * ms, stacks[0]);
	gpu_collect_cpu_sample(s.c, 77, 1350 * ms, stacks[1]);
	gpu_collect_cpu_sample(s.c, 77, 1450 * ms, stacks[1]); /* after the launch */
	emit_call(&s.region, GPU_API_LAUNCH, 9, 1400 * ms, 1401 * ms, 0);
	emit_kernel(&s.region, &first, 0);
	emit_kernel(&s.region, &second, 0);
	gpu_collect_finish(s.c, 1600 * ms);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launched late | python+0x0"), 200 * ms);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: launched late | python+0x1"), 100 * ms);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_IDLE), 400 * ms);
	finish(&s);
}

static void time_after_the_last_work_is_blamed_on_no_stack(void **state)
{
	struct setup s = { 0 };

	(void)state;
	start_with_gap(&s);
	gpu_collect_finish(s.c, 5000);
	assert_int_equal(idle_of(s.p, "GPU 0 idle: nothing more was launched | "), 900);
	assert_int_equal(device(s.p, 0)->end_ns, 2000);
	finish(&s);
}

static uint64_t counter_of(const struct profile *p, const char *name)
{
	const struct fact_gpu_counter *counters;
	size_t nr;

	counters = facts_rows(p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(profile_str(p, (uint32_t)counters[i].name), name))
			return counters[i].value;
	return 0;
}

/*
 * Devices are busy from 1 to 11 s with one kernel, whose record comes at its end, and with 99 short
 * ones beside it, whose records come at once.
 */
static void time_after_a_launch_without_a_record_is_not_known_yet(void **state)
{
	const uint64_t second = 1000000000, tenth = second / 10;
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = second;
	s.region.header->config.want = GPU_WANT_DEFAULT;
	emit_call(&s.region, GPU_API_LAUNCH, 1, second, second + 1000, 0);
	for (uint32_t i = 1; i < 100; i++) {
		uint64_t at = second + i * tenth;
		struct gpu_work w = { .start_ns = at, .end_ns = at + 1000, .correlation = i + 1 };

		emit_call(&s.region, GPU_API_LAUNCH, i + 1, at - 1000, at, 0);
		emit_kernel(&s.region, &w, 0);
		gpu_collect_drain(s.c, at + 2000);
	}
	emit_kernel(
		&s.region,
		&(struct gpu_work){ .start_ns = second, .end_ns = 11 * second, .correlation = 1 },
		0);
	gpu_collect_drain(s.c, 11 * second + 1);
	gpu_collect_finish(s.c, 12 * second);
	assert_int_equal(counter_of(s.p, "activities too late for their place"), 0);
	assert_int_equal(device(s.p, 0)->busy_ns, 10 * second);
	assert_int_equal(device(s.p, 0)->idle_ns, second);
	finish(&s);
}

/* Captured calls, calls that failed, and calls of what is not recorded hold up nothing. */
static void calls_without_records_are_not_awaited(void **state)
{
	const uint64_t second = 1000000000;
	struct gpu_rec_api failed = {
		.head = { GPU_RECORD_API, sizeof(failed), 77 },
		.start_ns = second,
		.end_ns = second + 10,
		.correlation = 1,
		.api_class = GPU_API_LAUNCH,
		.result = 2,
	};
	const struct gpu_rec_untimed untimed = { { GPU_RECORD_UNTIMED, sizeof(untimed), 0 }, 2, 0 };
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = second;
	s.region.header->config.want = GPU_WANT_KERNELS;
	test_emit(&s.region, 0, &failed);
	emit_call(&s.region, GPU_API_LAUNCH, 2, second, second + 10, 0);
	emit_call(&s.region, GPU_API_CAPTURED, 3, second, second + 10, 0);
	emit_call(&s.region, GPU_API_MEMCPY, 4, second, second + 10, 0);
	test_emit(&s.region, TEST_LANES - 1, &untimed);
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = 2 * second, .end_ns = 3 * second },
		    0);
	gpu_collect_drain(s.c, 3 * second);
	gpu_collect_drain(s.c, 9 * second);
	/* placed by now: what comes for an earlier time is late */
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = second, .end_ns = 2 * second }, 0);
	gpu_collect_finish(s.c, 9 * second);
	assert_int_equal(counter_of(s.p, "activities too late for their place"), 1);
	finish(&s);
}

/* As a child that calls _exit() before the recorder looks at it for the first time. */
static void lost_launches_are_counted_though_nothing_was_read_before_the_end(void **state)
{
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = 1000;
	s.region.header->config.want = GPU_WANT_DEFAULT;
	s.region.header->state = GPU_STATE_ACTIVE;
	emit_call(&s.region, GPU_API_LAUNCH, 1, 1000, 1010, 0);
	gpu_collect_finish(s.c, 2000);
	assert_int_equal(counter_of(s.p, COUNTER_WITHOUT_RECORD), 1);
	finish(&s);
}

/* The ring of calls is read before that of the GPU, so the call may be read one drain later. */
static void untimed_work_that_is_read_before_its_call_is_not_awaited(void **state)
{
	const struct gpu_rec_untimed untimed = { { GPU_RECORD_UNTIMED, sizeof(untimed), 0 }, 1, 0 };
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = 1000;
	s.region.header->config.want = GPU_WANT_DEFAULT;
	s.region.header->state = GPU_STATE_ACTIVE;
	test_emit(&s.region, TEST_LANES - 1, &untimed);
	gpu_collect_drain(s.c, 1500);
	emit_call(&s.region, GPU_API_LAUNCH, 1, 1000, 1010, 0);
	gpu_collect_drain(s.c, 1600);
	gpu_collect_finish(s.c, 2000);
	assert_int_equal(counter_of(s.p, COUNTER_WITHOUT_RECORD), 0);
	finish(&s);
}

static void work_in_the_future_is_refused_and_counted(void **state)
{
	const uint64_t second = 1000000000;
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = second;
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = 2 * second, .end_ns = 3 * second },
		    0);
	emit_kernel(&s.region,
		    &(struct gpu_work){ .start_ns = 2 * second, .end_ns = 1795365659 * second }, 0);
	gpu_collect_finish(s.c, 4 * second);
	assert_int_equal(counter_of(s.p, "activities in the future"), 1);
	assert_int_equal(device(s.p, 0)->busy_ns, second);
	assert_int_equal(device(s.p, 0)->idle_ns, 2 * second);
	finish(&s);
}

static void work_that_comes_too_late_is_counted(void **state)
{
	const uint64_t second = 1000000000;
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = second;
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = 5 * second, .end_ns = 6 * second },
		    0);
	for (uint64_t now = 5; now < 12; now++)
		gpu_collect_drain(s.c, now * second);
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = 3 * second, .end_ns = 4 * second },
		    0);
	gpu_collect_finish(s.c, 12 * second);
	assert_int_equal(counter_of(s.p, "activities too late for their place"), 1);
	assert_int_equal(device(s.p, 0)->busy_ns, second);
	assert_int_equal(device(s.p, 0)->idle_ns, 10 * second);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_equal_those_of_an_array_of_nanoseconds),
		cmocka_unit_test(late_launch_is_blamed_on_the_stack_that_was_late),
		cmocka_unit_test(time_in_a_synchronization_is_blamed_on_it),
		cmocka_unit_test(work_that_was_queued_waited_for_the_gpu),
		cmocka_unit_test(gap_between_nodes_of_one_graph_launch_is_the_graphs),
		cmocka_unit_test(gap_before_a_node_whose_launch_is_not_known_is_nobodys),
		cmocka_unit_test(samples_of_the_late_thread_share_its_time),
		cmocka_unit_test(time_after_the_last_work_is_blamed_on_no_stack),
		cmocka_unit_test(time_after_a_launch_without_a_record_is_not_known_yet),
		cmocka_unit_test(calls_without_records_are_not_awaited),
		cmocka_unit_test(lost_launches_are_counted_though_nothing_was_read_before_the_end),
		cmocka_unit_test(untimed_work_that_is_read_before_its_call_is_not_awaited),
		cmocka_unit_test(work_in_the_future_is_refused_and_counted),
		cmocka_unit_test(work_that_comes_too_late_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
