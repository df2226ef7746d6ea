/* What the tests of recordings share: a small recording to write, and files read into memory. */
#ifndef SPROF_TESTS_RECORDING_H
#define SPROF_TESTS_RECORDING_H

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/recording/recfile.h"

static const struct recfile_meta test_meta = {
	.hostname = "host",
	.kernel = "6.1.0",
	.command = "make -j8",
	.source = "ebpf",
	.event = "cpu-clock",
	.version = "0.1.0",
	.freq_hz = 999,
	.nr_cpus = 2,
	.start_realtime_ns = 1700000000000000000,
	.start_ns = 5000000000,
};

/* Ends a recording that was created as part.data, and adds it to the profile. */
__attribute__((unused)) static void add_part(struct recfile *w, uint64_t end_ns, struct profile *p,
					     struct recfile_part *part)
{
	FILE *f;
	char *note;

	assert_int_equal(recfile_finish(w, NULL, end_ns), 0);
	recfile_free(w);
	f = fopen("part.data", "rb");
	assert_non_null(f);
	assert_int_equal(recfile_add(f, p, part, &note), 0);
	assert_string_equal(note, "");
	free(note);
	fclose(f);
}

struct file_bytes {
	uint8_t *data;
	size_t size;
};

__attribute__((unused)) static int enter_new_directory(void **state)
{
	char *dir = xstrdup("/tmp/test_recfile.XXXXXX");

	*state = mkdtemp(dir);
	return *state && chdir(dir) == 0 ? 0 : -1;
}

__attribute__((unused)) static int remove_directory(void **state)
{
	char *command = xasprintf("rm -rf '%s'", (char *)*state);
	int status = system(command);

	free(command);
	free(*state);
	return status;
}

__attribute__((unused)) static struct file_bytes read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct file_bytes bytes = { 0 };

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	bytes.size = (size_t)ftell(f);
	rewind(f);
	bytes.data = xmalloc(bytes.size);
	assert_int_equal(fread(bytes.data, 1, bytes.size, f), bytes.size);
	fclose(f);
	return bytes;
}

__attribute__((unused)) static int read_bytes(const void *data, size_t size,
					      struct profile **ret_profile, char **ret_note)
{
	FILE *f = fmemopen((void *)data, size, "rb");
	int err;

	assert_non_null(f);
	err = recfile_read(f, ret_profile, ret_note);
	fclose(f);
	return err;
}

/* Reads a recording that must be readable. The caller owns the note, if it asks for one. */
__attribute__((unused)) static struct profile *read_recording(const char *path, char **ret_note)
{
	FILE *f = fopen(path, "rb");
	struct profile *p = NULL;
	char *note = NULL;

	assert_non_null(f);
	assert_int_equal(recfile_read(f, &p, &note), 0);
	fclose(f);
	if (ret_note)
		*ret_note = note;
	else
		free(note);
	return p;
}

__attribute__((unused)) static struct recfile *create_recording(const char *path)
{
	struct recfile *w = NULL;

	assert_int_equal(recfile_create(path, &test_meta, &w), 0);
	return w;
}

__attribute__((unused)) static uint32_t record_string(struct sink *sink, const char *s)
{
	return sink->string(sink, s, strlen(s));
}

__attribute__((unused)) static uint32_t record_module(struct sink *sink, const char *path)
{
	struct profile_module module = {
		.path = record_string(sink, path),
		.kind = MODULE_ELF,
		.build_id_size = 4,
		.build_id = { 0xde, 0xad, 0xbe, 0xef },
		.dev = 0x801,
		.ino = 12345678901,
	};

	return sink->module(sink, &module);
}

/*
 * Records samples first .. first + nr - 1: sample i has time and weight derived from i, and the
 * stack of i % 3.
 */
__attribute__((unused)) static void record_samples(struct sink *sink, uint32_t first, uint32_t nr)
{
	uint32_t program = record_module(sink, "/usr/bin/program");
	uint32_t libc = record_module(sink, "/usr/lib/libc.so.6");
	uint32_t frames[3] = {
		sink->frame(sink, program, 0x1000),
		sink->frame(sink, program, 0x2000),
		sink->frame(sink, libc, 0x3000),
	};

	for (uint32_t i = first; i < first + nr; i++) {
		struct profile_sample sample = {
			.time_ns = test_meta.start_ns + i * 1000000ull,
			.weight = 1001001 + i,
			.thread = sink->thread(sink, 100, 100 + i % 2,
					       record_string(sink, "program")),
			.stack = sink->stack(sink, frames, 1 + i % 3),
			.cpu = (uint16_t)(i % 4),
			.column = COLUMN_CPU,
		};

		sink->sample(sink, &sample);
	}
}

/* Is sample number `at` the one that record_samples() recorded as sample i? */
__attribute__((unused)) static void assert_sample(const struct profile *p, size_t at, uint32_t i)
{
	static const uint64_t addresses[] = { 0x1000, 0x2000, 0x3000 };
	const struct profile_sample *s = &p->samples[at];
	const struct profile_stack *stack = &p->stacks[s->stack];

	assert_int_equal(s->time_ns, test_meta.start_ns + i * 1000000ull);
	assert_int_equal(s->weight, 1001001 + i);
	assert_int_equal(s->cpu, i % 4);
	assert_int_equal(s->column, COLUMN_CPU);
	assert_int_equal(p->threads[s->thread].pid, 100);
	assert_int_equal(p->threads[s->thread].tid, 100 + i % 2);
	assert_string_equal(profile_str(p, p->threads[s->thread].comm), "program");
	assert_int_equal(stack->nr_frames, 1 + i % 3);
	for (uint32_t k = 0; k < stack->nr_frames; k++) {
		const struct profile_frame *frame =
			&p->frames[p->stack_frames[stack->first_frame + k]];

		assert_int_equal(frame->address, addresses[k]);
		assert_string_equal(profile_str(p, p->modules[frame->module].path),
				    k == 2 ? "/usr/lib/libc.so.6" : "/usr/bin/program");
	}
}

#endif
