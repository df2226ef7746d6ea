/* core/recording/recfile_write.c and recfile_read.c: what is recorded is read back. */
#include "tests/unit/recording.h"

#include <sys/stat.h>

#include "core/recording/record.h"

static const struct profile_stats test_stats = {
	.nr_lost = 7,
	.nr_incomplete = { [MARKER_NO_RULE] = 3, [NR_MARKERS - 1] = 1 },
	.nr_snapshots = 2,
	.nr_throttled = 1,
	.nr_rows = 27000000,
	.nr_limits = 5,
};

static void finish(struct recfile *w)
{
	assert_int_equal(recfile_finish(w, &test_stats, 9000000000), 0);
	recfile_free(w);
}

static void recording_comes_back_as_it_was(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *p;
	char *note;

	(void)state;
	record_samples(recfile_sink(w), 0, 100);
	assert_int_equal(recfile_flush(w), 0);
	record_samples(recfile_sink(w), 100, 50);
	finish(w);
	p = read_recording("x.data", &note);
	assert_string_equal(note, "");
	assert_int_equal(p->nr_samples, 150);
	for (uint32_t i = 0; i < 150; i++)
		assert_sample(p, i, i);
	assert_int_equal(p->nr_modules, 2);
	assert_int_equal(p->nr_frames, 3);
	assert_int_equal(p->nr_stacks, 3);
	assert_int_equal(p->nr_threads, 2);
	assert_int_equal(p->modules[0].build_id_size, 4);
	assert_memory_equal(p->modules[0].build_id, "\xde\xad\xbe\xef", 4);
	assert_int_equal(p->modules[0].dev, 0x801);
	assert_int_equal(p->modules[0].ino, 12345678901);
	profile_free(p);
	free(note);
}

/* Chunks whose samples have no GIL state have no column for it. */
static void what_is_said_of_the_gil_comes_back(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct sink *sink = recfile_sink(w);
	struct profile_sample sample = { .thread = PROFILE_NONE };
	struct profile *p;

	(void)state;
	sample.stack = sink->stack(sink, NULL, 0);
	for (uint32_t i = 0; i < 300; i++) {
		sample.gil = i / 100 == 1 ? (uint8_t)(i % NR_GIL) : GIL_UNKNOWN;
		sink->sample(sink, &sample);
		if (i % 100 == 99)
			assert_int_equal(recfile_flush(w), 0);
	}
	finish(w);
	p = read_recording("x.data", NULL);
	assert_int_equal(p->nr_samples, 300);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(p->samples[i].gil, i / 100 == 1 ? i % NR_GIL : GIL_UNKNOWN);
	profile_free(p);
}

static void meta_and_stats_come_back(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *p;

	(void)state;
	record_samples(recfile_sink(w), 0, 10);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_string_equal(profile_str(p, p->meta.hostname), "host");
	assert_string_equal(profile_str(p, p->meta.kernel), "6.1.0");
	assert_string_equal(profile_str(p, p->meta.command), "make -j8");
	assert_string_equal(profile_str(p, p->meta.source), "ebpf");
	assert_string_equal(profile_str(p, p->meta.event), "cpu-clock");
	assert_string_equal(profile_str(p, p->meta.version), "0.1.0");
	assert_int_equal(p->meta.freq_hz, 999);
	assert_int_equal(p->meta.nr_cpus, 2);
	assert_int_equal(p->meta.start_realtime_ns, test_meta.start_realtime_ns);
	assert_int_equal(p->meta.start_ns, test_meta.start_ns);
	assert_int_equal(p->meta.end_ns, 9000000000);
	assert_false(p->meta.unfinished);
	assert_int_equal(p->stats.nr_samples, 10);
	assert_int_equal(p->stats.nr_lost, 7);
	assert_int_equal(p->stats.nr_incomplete[MARKER_NO_RULE], 3);
	assert_int_equal(p->stats.nr_incomplete[NR_MARKERS - 1], 1);
	assert_int_equal(p->stats.nr_snapshots, 2);
	assert_int_equal(p->stats.nr_throttled, 1);
	assert_int_equal(p->stats.nr_rows, 27000000);
	assert_int_equal(p->stats.nr_limits, 5);
	profile_free(p);
}

static void empty_recording_is_complete(void **state)
{
	struct profile *p;
	char *note;

	(void)state;
	finish(create_recording("x.data"));
	p = read_recording("x.data", &note);
	assert_string_equal(note, "");
	assert_int_equal(p->nr_samples, 0);
	assert_false(p->meta.unfinished);
	profile_free(p);
	free(note);
}

static void symbols_come_back(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *v = recfile_vocabulary(w), *p;
	struct profile_function function = {
		.name = profile_cstring(v, "outer()"),
		.system_name = profile_cstring(v, "_Z5outerv"),
		.file = profile_cstring(v, "a.cc"),
		.start_line = 10,
		.kind = FUNCTION_JIT,
	};
	struct profile_location locations[2] = { { .line = 12 }, { .line = 3, .inlined = true } };
	const struct profile_location *read;

	(void)state;
	record_samples(recfile_sink(w), 0, 3);
	recfile_flush(w);
	locations[0].function = profile_function(v, &function);
	function.name = profile_cstring(v, "inner()");
	function.module = PROFILE_NONE;
	locations[1].function = profile_function(v, &function);
	profile_set_locations(v, 1, locations, 2);
	assert_int_equal(recfile_write_symbols(w), 0);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_int_equal(p->frames[0].nr_locations, 0);
	assert_int_equal(p->frames[1].nr_locations, 2);
	read = &p->locations[p->frames[1].first_location];
	assert_string_equal(profile_str(p, p->functions[read[0].function].name), "outer()");
	assert_string_equal(profile_str(p, p->functions[read[0].function].system_name),
			    "_Z5outerv");
	assert_string_equal(profile_str(p, p->functions[read[0].function].file), "a.cc");
	assert_int_equal(p->functions[read[0].function].start_line, 10);
	assert_int_equal(p->functions[read[0].function].kind, FUNCTION_JIT);
	assert_int_equal(p->functions[read[0].function].module, 0);
	assert_int_equal(read[0].line, 12);
	assert_false(read[0].inlined);
	assert_string_equal(profile_str(p, p->functions[read[1].function].name), "inner()");
	assert_int_equal(p->functions[read[1].function].module, PROFILE_NONE);
	assert_int_equal(read[1].line, 3);
	assert_true(read[1].inlined);
	profile_free(p);
}

static void megabytes_of_symbols_fill_several_chunks(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *v = recfile_vocabulary(w), *p;
	struct sink *sink = recfile_sink(w);
	uint32_t module = record_module(sink, "/bin/big");
	char name[200];

	(void)state;
	for (uint32_t i = 0; i < 30000; i++) {
		struct profile_function function = { .kind = FUNCTION_NATIVE };
		struct profile_location location = { .line = i };
		uint32_t frame = sink->frame(sink, module, 0x1000 + i);

		memset(name, 'n', sizeof(name));
		snprintf(name + 180, 20, "%u", i);
		function.name = function.system_name = profile_cstring(v, name);
		location.function = profile_function(v, &function);
		profile_set_locations(v, frame, &location, 1);
	}
	recfile_write_symbols(w);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_false(p->meta.unfinished);
	assert_int_equal(p->nr_functions, 30000);
	for (uint32_t i = 0; i < 30000; i++) {
		const struct profile_frame *frame = &p->frames[i];
		const struct profile_location *location = &p->locations[frame->first_location];

		assert_int_equal(frame->address, 0x1000 + i);
		assert_int_equal(location->line, i);
		snprintf(name + 180, 20, "%u", i);
		assert_string_equal(profile_str(p, p->functions[location->function].name), name);
	}
	profile_free(p);
}

static void python_frames_come_back_with_their_names(void **state)
{
	struct recfile *w = create_recording("python.data");
	struct sink *sink = recfile_sink(w);
	struct profile_module code = { .kind = MODULE_PYTHON, .code_line = 15 };
	struct profile_sample sample = { .weight = 1, .thread = PROFILE_NONE };
	const struct profile_location *location;
	const struct profile_function *function;
	uint32_t frames[2], module;
	struct profile *p;

	(void)state;
	code.path = record_string(sink, "/srv/train.py");
	code.code_name = record_string(sink, "Net.forward");
	module = sink->module(sink, &code);
	frames[0] = sink->frame(sink, module, 17);
	frames[1] = sink->frame(sink, module, 0);
	sample.stack = sink->stack(sink, frames, 2);
	sink->sample(sink, &sample);
	/* the recorder is killed before it writes any names */
	recfile_flush(w);
	recfile_free(w);
	p = read_recording("python.data", NULL);
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_stacks, 1);
	for (int i = 0; i < 2; i++) {
		const struct profile_frame *frame = &p->frames[p->stack_frames[i]];

		assert_int_equal(frame->nr_locations, 1);
		location = &p->locations[frame->first_location];
		function = &p->functions[location->function];
		assert_int_equal(location->line, i ? 0 : 17);
		assert_int_equal(function->kind, FUNCTION_PYTHON);
		assert_int_equal(function->start_line, 15);
		assert_string_equal(profile_str(p, function->name), "Net.forward (train.py:15)");
		assert_string_equal(profile_str(p, function->system_name), "Net.forward");
		assert_string_equal(profile_str(p, function->file), "/srv/train.py");
	}
	profile_free(p);
}

static void special_frames_come_back(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct sink *sink = recfile_sink(w);
	struct profile_module marker = { .kind = MODULE_MARKER };
	struct profile_module named = { .kind = MODULE_NAMED, .function_kind = FUNCTION_KERNEL };
	uint32_t frames[4] = {
		sink->frame(sink, sink->module(sink, &marker), MARKER_TOO_DEEP),
		sink->frame(sink, sink->module(sink, &named), record_string(sink, "do_exit")),
		sink->frame(sink, record_module(sink, "/bin/x"), UINT64_MAX),
		sink->frame(sink, record_module(sink, "/bin/x"), 0),
	};
	struct profile_sample sample = {
		.weight = UINT64_MAX,
		.thread = PROFILE_NONE,
		.cpu = UINT16_MAX,
		.column = COLUMN_COUNT,
	};
	struct profile *p;
	char buf[64];

	(void)state;
	sample.stack = sink->stack(sink, frames, 4);
	sink->sample(sink, &sample);
	sample.weight = 0;
	sample.stack = sink->stack(sink, NULL, 0);
	sink->sample(sink, &sample);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_string_equal(profile_frame_fallback_name(p, p->stack_frames[0], buf, sizeof(buf)),
			    marker_name(MARKER_TOO_DEEP));
	assert_string_equal(profile_frame_fallback_name(p, p->stack_frames[1], buf, sizeof(buf)),
			    "do_exit");
	assert_int_equal(
		p->functions[p->locations[p->frames[p->stack_frames[1]].first_location].function]
			.kind,
		FUNCTION_KERNEL);
	assert_true(p->frames[p->stack_frames[2]].address == UINT64_MAX);
	assert_int_equal(p->frames[p->stack_frames[3]].address, 0);
	assert_true(p->samples[0].weight == UINT64_MAX);
	assert_int_equal(p->samples[0].thread, PROFILE_NONE);
	assert_int_equal(p->samples[0].cpu, UINT16_MAX);
	assert_int_equal(p->samples[0].column, COLUMN_COUNT);
	assert_int_equal(p->samples[0].time_ns, 0);
	assert_int_equal(p->samples[1].weight, 0);
	assert_int_equal(p->stacks[p->samples[1].stack].nr_frames, 0);
	profile_free(p);
}

/*
 * Like a real recording: a jittering timer on two CPUs, some threads, a skewed distribution of
 * stacks.
 */
static void record_noise(struct sink *sink, uint32_t nr)
{
	uint32_t module = record_module(sink, "/usr/bin/program"), frames[40];
	uint64_t random = 88172645463325252, time = test_meta.start_ns;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t which, depth;
		struct profile_sample sample = { .weight = 1001001 };

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		which = (random % 50) * ((random >> 8) % 50) / 50;
		depth = 10 + which % 30;
		for (uint32_t d = 0; d < depth; d++)
			frames[d] = sink->frame(sink, module, d < 8 ? d : 100 * which + d);
		time += 450000 + (random >> 20) % 100000;
		sample.time_ns = time;
		sample.cpu = (random >> 40) & 1;
		sample.thread = sink->thread(sink, 1, 1 + (random >> 41) % 4,
					     record_string(sink, "program"));
		sample.stack = sink->stack(sink, frames, depth);
		sink->sample(sink, &sample);
		if (i % 2000 == 1999) /* about a second */
			recfile_flush((struct recfile *)sink);
	}
}

static void sample_takes_at_most_8_bytes(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct stat st;

	(void)state;
	record_noise(recfile_sink(w), 100000);
	finish(w);
	assert_int_equal(stat("x.data", &st), 0);
	print_message("# %.2f bytes per sample\n", st.st_size / 100000.0);
	assert_in_range(st.st_size, 100000, 800000);
}

static void million_samples_come_back(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *p;
	uint64_t sum = 0;

	(void)state;
	record_samples(recfile_sink(w), 0, 1000000);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_int_equal(p->nr_samples, 1000000);
	for (uint32_t i = 0; i < 1000000; i++)
		sum += p->samples[i].weight;
	assert_int_equal(sum, 1001001000000 + 999999ull * 500000);
	assert_sample(p, 999999, 999999);
	profile_free(p);
}

/*
 * More stacks than the recorder remembers: stacks that come again are written again, and are still
 * one.
 */
static void forgotten_stacks_are_one_again(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct sink *sink = recfile_sink(w);
	uint32_t module = record_module(sink, "/bin/x"), f[2], first_id = 0, id;
	struct profile *p;

	(void)state;
	f[0] = sink->frame(sink, module, 0);
	for (uint32_t i = 0; i < 500000; i++) {
		struct profile_sample sample = { .weight = 1, .thread = PROFILE_NONE };

		f[1] = sink->frame(sink, module, 1 + i % 450000);
		id = sink->stack(sink, f, 2);
		if (!i)
			first_id = id;
		if (i == 450000)
			assert_int_not_equal(id, first_id); /* otherwise this tests nothing */
		sample.stack = id;
		sink->sample(sink, &sample);
	}
	finish(w);
	p = read_recording("x.data", NULL);
	assert_int_equal(p->nr_samples, 500000);
	assert_int_equal(p->nr_stacks, 450000);
	for (uint32_t i = 0; i < 500000; i++)
		assert_int_equal(p->samples[i].stack, i % 450000);
	profile_free(p);
}

static void long_strings_and_deep_stacks_are_cut(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct sink *sink = recfile_sink(w);
	uint32_t nr = RECORD_MAX_DEPTH + 10;
	uint32_t *frames;
	char *name = xmalloc(3 * RECORD_MAX_STRING);
	struct profile_sample sample = { .thread = PROFILE_NONE };
	struct profile *p;

	(void)state;
	memset(name, 'x', 3 * RECORD_MAX_STRING);
	frames = xcalloc(nr, sizeof(*frames));
	sink->string(sink, name, 3 * RECORD_MAX_STRING);
	sink->frame(sink, record_module(sink, "/bin/x"), 0); /* frame 0 */
	sample.stack = sink->stack(sink, frames, nr);
	sink->sample(sink, &sample);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_false(p->meta.unfinished);
	assert_int_equal(p->stacks[p->samples[0].stack].nr_frames, RECORD_MAX_DEPTH);
	for (size_t i = 0; i < p->nr_strings; i++)
		assert_in_range(strlen(p->strings[i]), 0, RECORD_MAX_STRING);
	profile_free(p);
	free(frames);
	free(name);
}

static void recording_is_read_from_a_pipe(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *p = NULL;
	char *note = NULL;
	FILE *f;

	(void)state;
	record_noise(recfile_sink(w), 50000);
	finish(w);
	f = popen("cat x.data", "r");
	assert_non_null(f);
	assert_int_equal(recfile_read(f, &p, &note), 0);
	pclose(f);
	assert_string_equal(note, "");
	assert_int_equal(p->nr_samples, 50000);
	profile_free(p);
	free(note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recording_comes_back_as_it_was),
		cmocka_unit_test(what_is_said_of_the_gil_comes_back),
		cmocka_unit_test(meta_and_stats_come_back),
		cmocka_unit_test(empty_recording_is_complete),
		cmocka_unit_test(symbols_come_back),
		cmocka_unit_test(megabytes_of_symbols_fill_several_chunks),
		cmocka_unit_test(python_frames_come_back_with_their_names),
		cmocka_unit_test(special_frames_come_back),
		cmocka_unit_test(sample_takes_at_most_8_bytes),
		cmocka_unit_test(million_samples_come_back),
		cmocka_unit_test(forgotten_stacks_are_one_again),
		cmocka_unit_test(long_strings_and_deep_stacks_are_cut),
		cmocka_unit_test(recording_is_read_from_a_pipe),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
