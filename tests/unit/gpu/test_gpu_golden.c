/*
 * Makes the recording of two training steps on a GPU that tests/cli/gpu_report.bats compares tables
 * and pictures of. It is made from a region, as libsprof-gpu.so would share it, and kept in the
 * tree; REGENERATE=1 writes it again.
 */
#include "tests/unit/gpu_setup.h"
#include "tests/unit/recording.h"

#define GOLDEN "tests/golden/recordings/gpu.data"
#define MS 1000000ull

/* What happens in a step and from which stack; times are ms after its start. */
struct script {
	struct test_region *t;
	uint32_t forward_stack, backward_stack, copy_stack, sync_stack;
	uint32_t step, forward, backward, gemm, softmax, nccl;
	uint32_t correlation;
};

static void prepare(struct script *s, struct test_region *t)
{
	static const uint64_t forward[] = { 0x9001, 0x3001, 0x2001, 0x1001 };
	static const uint64_t backward[] = { 0x9001, 0x4001, 0x1001 };
	static const uint64_t copy[] = { 0x5001, 0x1001 };
	static const uint64_t sync[] = { 0x6001, 0x1001 };
	struct gpu_api *apis = test_area(t, &t->header->apis);
	struct gpu_device *devices = test_area(t, &t->header->devices);

	*s = (struct script){ .t = t };
	s->forward_stack = test_stack(t, forward, 4, END_ROOT);
	s->backward_stack = test_stack(t, backward, 3, END_ROOT);
	s->copy_stack = test_stack(t, copy, 2, END_ROOT);
	s->sync_stack = test_stack(t, sync, 2, END_ROOT);
	s->step = test_range(t, 0, "step", "train");
	s->forward = test_range(t, s->step, "aten::addmm, seq = 1", "");
	s->backward = test_range(t, s->step, "aten::mm_backward <&|>", "");
	s->gemm = test_string(t, "_Z4gemmPf");
	s->softmax = test_string(t, "softmax_warp_forward<float, 10>");
	s->nccl = test_string(t, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	apis[307].name = test_string(t, "cuLaunchKernel");
	apis[GPU_MAX_CBIDS + 211].name = test_string(t, "cudaLaunchKernel");
	devices[0] = (struct gpu_device){
		.name = test_string(t, "NVIDIA H200"),
		.uuid = { 0x12, 0x34 },
		.memory_bytes = 141ull << 30,
		.cc_major = 9,
		.nr_sms = 132,
		.warp_threads = 32,
		.max_warps_per_sm = 64,
		.max_blocks_per_sm = 32,
		.max_registers_per_sm = 65536,
		.max_shared_per_sm = 233472,
		.known = 1,
	};
	t->header->active_ns = test_meta.start_ns;
	t->header->stopped_ns = test_meta.start_ns + 400 * MS;
	t->header->counters[GPU_COUNT_KERNELS] = 6;
	t->header->counters[GPU_COUNT_UNTIMED] = 2;
	t->header->failures[0] = (struct gpu_failure){ .code = GPU_FAIL_UNTIMED,
						       .count = 2,
						       .text = "2 activities had no time" };
}

static void count_call(struct script *s, uint64_t ns)
{
	struct gpu_api *apis = test_area(s->t, &s->t->header->apis);
	struct gpu_api *both[] = { &apis[307], &apis[GPU_MAX_CBIDS + 211] };

	for (int i = 0; i < 2; i++) {
		uint64_t this_ns = i ? 2 * ns : ns;

		both[i]->count++;
		both[i]->total_ns += this_ns;
		both[i]->max_ns = this_ns > both[i]->max_ns ? this_ns : both[i]->max_ns;
	}
}

static void kernel(struct script *s, uint32_t name, uint64_t launch_ns, uint64_t start_ns,
		   uint64_t ns, uint32_t stack, uint32_t range)
{
	struct gpu_fold fold = {
		.kind = GPU_FOLD_KERNEL,
		.stack = stack,
		.name = name,
		.range = range,
		.registers = 128,
		.shared_dynamic = 49152,
		.grid = { 132, 2, 1 },
		.block = { 256, 1, 1 },
	};
	struct gpu_work work = {
		.start_ns = start_ns,
		.end_ns = start_ns + ns,
		.correlation = ++s->correlation,
		.stack = stack,
		.range = range,
	};

	emit_call(s->t, GPU_API_LAUNCH, s->correlation, launch_ns, launch_ns + 5000, stack);
	count_call(s, 5000);
	emit_kernel(s->t, &work, name);
	test_fold_add(s->t, &fold, ns, 0);
}

static void copy(struct script *s, uint64_t start_ns, uint64_t ns, uint64_t bytes)
{
	const struct gpu_fold fold = {
		.kind = GPU_FOLD_MEMCPY, .subkind = 1, .stack = s->copy_stack, .range = s->step
	};
	const struct gpu_work work = {
		.start_ns = start_ns,
		.end_ns = start_ns + ns,
		.correlation = ++s->correlation,
		.stack = s->copy_stack,
		.range = s->step,
	};

	emit_call(s->t, GPU_API_MEMCPY, s->correlation, start_ns - 1000, start_ns - 500,
		  s->copy_stack);
	emit_copy(s->t, &work);
	test_fold_add(s->t, &fold, ns, bytes);
}

static void end_range(struct script *s, uint32_t range, uint64_t start_ns, uint64_t end_ns)
{
	struct gpu_range_node *node = test_range_node(s->t, range);
	uint64_t ns = end_ns - start_ns;

	emit_range(s->t, range, start_ns, end_ns);
	node->min_ns = !node->count || ns < node->min_ns ? ns : node->min_ns;
	node->max_ns = ns > node->max_ns ? ns : node->max_ns;
	node->total_ns += ns;
	node->count++;
}

/* The first step is slower: it is the warm-up. */
static void step(struct script *s, uint64_t at, uint64_t slower)
{
	copy(s, at + 10 * MS, 4 * MS, 100 << 20);
	kernel(s, s->gemm, at + 20 * MS, at + 22 * MS, (20 + slower) * MS, s->forward_stack,
	       s->forward);
	kernel(s, s->softmax, at + 21 * MS, at + (44 + slower) * MS, 2 * MS, s->forward_stack,
	       s->forward);
	end_range(s, s->forward, at + 15 * MS, at + 25 * MS);
	emit_memory(s->t, GPU_MEMORY_ALLOC, s->step, at + 26 * MS, 64 << 20);
	kernel(s, s->gemm, at + 60 * MS, at + 60 * MS + 10000, 30 * MS, s->backward_stack,
	       s->backward);
	kernel(s, s->nccl, at + 61 * MS, at + 95 * MS, 10 * MS, s->backward_stack, s->backward);
	end_range(s, s->backward, at + 58 * MS, at + 62 * MS);
	emit_call(s->t, GPU_API_SYNC, ++s->correlation, at + 63 * MS, at + 110 * MS, s->sync_stack);
	emit_memory(s->t, GPU_MEMORY_FREE, s->step, at + 111 * MS, 32 << 20);
	end_range(s, s->step, at + 5 * MS, at + (120 + slower) * MS);
}

/* CPU samples at 1 kHz of the thread that makes the calls. */
static void sample_cpu(struct sink *sink, uint64_t from_ns, uint64_t to_ns)
{
	int nr_lookups = 0;
	uint32_t frame = program_frame(&nr_lookups, sink, 0x1000);
	struct profile_sample sample = {
		.weight = MS,
		.thread = sink->thread(sink, 4242424, 77, record_string(sink, "train")),
		.stack = sink->stack(sink, &frame, 1),
	};

	for (uint64_t t = from_ns; t < to_ns; t += MS) {
		sample.time_ns = t;
		sink->sample(sink, &sample);
	}
}

static void name_frames(struct profile *v)
{
	static const struct {
		uint64_t address;
		const char *name;
	} names[] = {
		{ 0x1000, "main" },
		{ 0x2000, "model::forward()" },
		{ 0x3000, "cudaLaunchKernel" },
		{ 0x4000, "backward()" },
		{ 0x5000, "load_batch" },
		{ 0x6000, "wait_for_gpu" },
	};

	for (uint32_t i = 0; i < v->nr_frames; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
			uint32_t id = profile_cstring(v, names[k].name);
			struct profile_function f = { .name = id,
						      .system_name = id,
						      .module = v->frames[i].module };
			struct profile_location location = { 0 };

			if (v->modules[v->frames[i].module].kind != MODULE_ELF ||
			    v->frames[i].address != names[k].address)
				continue;
			location.function = profile_function(v, &f);
			profile_set_locations(v, i, &location, 1);
		}
}

static void record_training(const char *path)
{
	uint64_t run_room = 1000;
	struct gpu_collect_opts opts = {
		.pid = 4242424, .run_room = &run_room, .frame = program_frame, .demangle = readable
	};
	struct recfile *w = create_recording(path);
	struct test_region t;
	struct gpu_collect *c;
	struct script s;
	int nr_lookups = 0;

	test_region_init(&t);
	prepare(&s, &t);
	test_region_open(&t);
	opts.context = &nr_lookups;
	c = gpu_collect_new(t.shared, &opts, recfile_sink(w));
	sample_cpu(recfile_sink(w), test_meta.start_ns, test_meta.start_ns + 360 * MS);
	step(&s, test_meta.start_ns, 50);
	gpu_collect_drain(c, test_meta.start_ns + 200 * MS);
	step(&s, test_meta.start_ns + 200 * MS, 0);
	gpu_collect_finish(c, test_meta.start_ns + 400 * MS);
	name_frames(recfile_vocabulary(w));
	recfile_write_symbols(w);
	recfile_finish(w, NULL, test_meta.start_ns + 400 * MS);
	recfile_free(w);
	gpu_collect_free(c);
	test_region_fini(&t);
}

static int regenerate(void **state)
{
	(void)state;
	if (getenv("REGENERATE")) {
		record_training(GOLDEN);
		unlink(GOLDEN ".old");
	}
	return 0;
}

static void check_training(const struct profile *p)
{
	const struct fact_gpu_device *d;
	size_t nr;

	assert_int_equal(sum_of(p, COLUMN_CPU), 360 * MS);
	assert_int_equal(sum_of(p, COLUMN_GPU), (4 + 20 + 2 + 30 + 10) * 2 * MS + 50 * MS);
	assert_int_equal(sum_of(p, COLUMN_GPU_LAUNCHES), 10);
	assert_int_equal(sum_of(p, COLUMN_GPU_BYTES), 200ull << 20);
	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(d->busy_ns + d->idle_ns, 400 * MS);
	assert_int_equal(d->idle_ns, sum_of(p, COLUMN_GPU_IDLE));
	facts_rows(p, FACT_RANGE_RUN, &nr);
	assert_int_equal(nr, 6);
	assert_int_equal(p->stats.nr_samples, 360); /* counted events are not samples */
}

static void golden_recording_reads_as_before(void **state)
{
	struct profile *p = read_recording(GOLDEN, NULL);

	(void)state;
	check_training(p);
	profile_free(p);
}

static void recording_made_now_equals_the_golden_one(void **state)
{
	char *path = xstrdup("/tmp/test_gpu_golden.XXXXXX");
	struct profile *p;
	char *file;

	(void)state;
	assert_non_null(mkdtemp(path));
	file = xasprintf("%s/gpu.data", path);
	record_training(file);
	p = read_recording(file, NULL);
	check_training(p);
	unlink(file);
	rmdir(path);
	profile_free(p);
	free(file);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_recording_reads_as_before),
		cmocka_unit_test(recording_made_now_equals_the_golden_one),
	};

	return cmocka_run_group_tests(tests, regenerate, NULL);
}
