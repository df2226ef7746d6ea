/*
 * Recordings that are kept in the tree: what the writer once wrote must stay readable, however it
 * changes. The command tests and the fuzzer use them too. With REGENERATE=1 in the environment they
 * are written anew, which is right only while nothing has been released with the old format.
 */
#include "tests/unit/recording.h"

#include <errno.h>
#include <xxhash.h>

#include "core/profile/facts.h"
#include "core/recording/record.h"

#define COMPLETE "tests/golden/recordings/complete.data"
#define KILLED "tests/golden/recordings/killed.data"
#define PROCESSES "tests/golden/recordings/processes.data"
#define LATER "tests/golden/recordings/later.data" /* a header of the next major version */

/* 400 samples: make itself, cc1, the kernel, and a stack that is incomplete. */
static void record_build(struct recfile *w)
{
	struct sink *s = recfile_sink(w);
	struct profile_module kernel = {
		.path = record_string(s, "[kernel]"),
		.kind = MODULE_KERNEL,
	};
	struct profile_module marker = { .kind = MODULE_MARKER };
	struct profile_module jit = {
		.path = record_string(s, "[jit]"),
		.kind = MODULE_JIT,
		.pid = 100,
	};
	uint32_t make = record_module(s, "/usr/bin/make");
	uint32_t cc1 = record_module(s, "/usr/lib/gcc/<cc1> \x1b[31m\"\xff");
	uint32_t f[8] = {
		s->frame(s, make, 0x1000),
		s->frame(s, make, 0x1234),
		s->frame(s, cc1, 0x51000),
		s->frame(s, cc1, 0x52000),
		s->frame(s, s->module(s, &kernel), 0xffffffff81000000),
		s->frame(s, s->module(s, &marker), MARKER_NO_RULE),
		s->frame(s, s->module(s, &jit), 0x7f0000001000),
	};
	uint32_t stacks[4] = {
		s->stack(s, (uint32_t[]){ f[0], f[1] }, 2),
		s->stack(s, (uint32_t[]){ f[2], f[3], f[3] }, 3),
		s->stack(s, (uint32_t[]){ f[0], f[1], f[4] }, 3),
		s->stack(s, (uint32_t[]){ f[5], f[6] }, 2),
	};
	uint32_t threads[2] = {
		s->thread(s, 100, 100, record_string(s, "make")),
		s->thread(s, 101, 102, record_string(s, "cc1\n\xc3\x28")),
	};

	for (uint32_t i = 0; i < 400; i++) {
		uint32_t which = i % 10 < 2 ? 0 : i % 10 < 8 ? 1 : i % 10 < 9 ? 2 : 3;
		struct profile_sample sample = {
			.time_ns = test_meta.start_ns + 1000000ull * i,
			.weight = 1001001,
			.thread = threads[which == 1],
			.stack = stacks[which],
			.cpu = i & 1,
		};

		s->sample(s, &sample);
		if (i == 199) {
			recfile_set_stats(w, &(struct profile_stats){
						     .nr_lost = 3,
						     .nr_incomplete = { [MARKER_NO_RULE] = 20 },
					     });
			recfile_flush(w);
		}
	}
}

static void name_frame(struct profile *v, uint32_t frame, const char *name)
{
	uint32_t id = profile_cstring(v, name);
	struct profile_function function = {
		.name = id,
		.system_name = id,
		.module = v->frames[frame].module,
		.kind = FUNCTION_NATIVE,
	};
	struct profile_location location = { .function = profile_function(v, &function) };

	profile_set_locations(v, frame, &location, 1);
}

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/*
 * 100 samples of a server: a master, two workers in a container, a process of a user without a name
 * in a cgroup with a hostile name, and one of which nothing is known.
 */
static void record_server(struct recfile *w)
{
	static const struct {
		uint32_t pid, uid, percent;
		const char *comm, *user, *cgroup, *container, *engine;
	} processes[] = {
		{ 10, 0, 10, "master", "root", "/system.slice/web.service", "", "" },
		{ 11, 33, 40, "worker", "www-data", "/system.slice/docker-" CONTAINER ".scope",
		  CONTAINER, "docker" },
		{ 12, 33, 30, "worker", "www-data", "/system.slice/docker-" CONTAINER ".scope",
		  CONTAINER, "docker" },
		{ 13, 4242, 15, "batch", "", "/user.slice/\x1b[31m<&>", "", "" },
		{ 14, 0, 5, "gone", NULL, NULL, NULL, NULL },
	};
	struct sink *s = recfile_sink(w);
	uint32_t module = record_module(s, "/usr/bin/server");
	uint32_t frames[2] = { s->frame(s, module, 0x1000), s->frame(s, module, 0x2000) };
	uint32_t stack = s->stack(s, frames, 2);
	uint64_t time_ns = test_meta.start_ns;

	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
		struct profile_sample sample = { .weight = 1001001, .stack = stack };
		struct fact_process row = {
			.pid = processes[i].pid,
			.parent = i ? 10 : 1,
			.uid = processes[i].uid,
		};

		sample.thread = s->thread(s, processes[i].pid, processes[i].pid,
					  record_string(s, processes[i].comm));
		for (uint32_t n = 0; n < processes[i].percent; n++) {
			sample.time_ns = time_ns += 1000000;
			s->sample(s, &sample);
		}
		if (!processes[i].user)
			continue;
		row.user = record_string(s, processes[i].user);
		row.cgroup = record_string(s, processes[i].cgroup);
		row.container = record_string(s, processes[i].container);
		row.engine = record_string(s, processes[i].engine);
		s->fact(s, FACT_PROCESS, &row);
	}
}

static void write_later_header(void)
{
	struct record_file header = {
		.magic = RECORD_FILE_MAGIC,
		.version_major = RECORD_VERSION_MAJOR + 1,
		.header_size = sizeof(header),
	};
	FILE *f = fopen(LATER, "wb");

	assert_non_null(f);
	header.check = XXH64(&header, offsetof(struct record_file, check), 0);
	assert_int_equal(fwrite(&header, sizeof(header), 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

static int regenerate(void **state)
{
	const struct profile_stats stats = {
		.nr_lost = 5,
		.nr_incomplete = { [MARKER_NO_RULE] = 40, [MARKER_TOO_DEEP] = 1 },
		.nr_snapshots = 4,
		.nr_throttled = 2,
		.nr_rows = 123456,
	};
	struct recfile *w;

	(void)state;
	if (!getenv("REGENERATE"))
		return 0;
	w = create_recording(COMPLETE);
	record_build(w);
	name_frame(recfile_vocabulary(w), 0, "main");
	name_frame(recfile_vocabulary(w), 1, "run_job()");
	name_frame(recfile_vocabulary(w), 3, "parse<int, \"x\">");
	recfile_write_symbols(w);
	recfile_finish(w, &stats, test_meta.start_ns + 400000000);
	recfile_free(w);
	w = create_recording(KILLED);
	record_build(w);
	recfile_free(w); /* the second half was not flushed */
	w = create_recording(PROCESSES);
	record_server(w);
	name_frame(recfile_vocabulary(w), 0, "main");
	name_frame(recfile_vocabulary(w), 1, "serve");
	recfile_write_symbols(w);
	recfile_finish(w, &(struct profile_stats){ 0 }, test_meta.start_ns + 100000000);
	recfile_free(w);
	unlink(PROCESSES ".old");
	unlink(COMPLETE ".old");
	unlink(KILLED ".old");
	write_later_header();
	return 0;
}

static void complete_recording_reads_as_ever(void **state)
{
	char *note;
	struct profile *p = read_recording(COMPLETE, &note);
	uint64_t of_thread[2] = { 0 };

	(void)state;
	assert_string_equal(note, "");
	assert_int_equal(p->nr_samples, 400);
	assert_int_equal(p->nr_stacks, 4);
	assert_int_equal(p->nr_frames, 7);
	assert_int_equal(p->stats.nr_lost, 5);
	assert_int_equal(p->stats.nr_incomplete[MARKER_NO_RULE], 40);
	assert_int_equal(p->meta.end_ns - p->meta.start_ns, 400000000);
	assert_string_equal(profile_str(p, p->meta.command), "make -j8");
	for (size_t i = 0; i < 400; i++)
		of_thread[p->samples[i].thread]++;
	assert_int_equal(of_thread[0], 160);
	assert_int_equal(of_thread[1], 240);
	assert_string_equal(
		profile_str(p,
			    p->functions[p->locations[p->frames[1].first_location].function].name),
		"run_job()");
	assert_int_equal(p->frames[4].nr_locations, 0);
	assert_true(p->frames[4].address == 0xffffffff81000000);
	profile_free(p);
	free(note);
}

static void killed_recording_reads_as_ever(void **state)
{
	char *note;
	struct profile *p = read_recording(KILLED, &note);

	(void)state;
	assert_string_equal(note, "the recorder was killed, or is still running");
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_samples, 200);
	assert_int_equal(p->stats.nr_lost, 3);
	assert_int_equal(p->nr_functions, 0);
	profile_free(p);
	free(note);
}

static void processes_read_as_ever(void **state)
{
	char *note;
	struct profile *p = read_recording(PROCESSES, &note);
	const struct fact_process *rows;
	size_t nr;

	(void)state;
	assert_int_equal(p->nr_samples, 100);
	rows = facts_rows(p, FACT_PROCESS, &nr);
	assert_int_equal(nr, 4);
	assert_int_equal(rows[2].pid, 12);
	assert_int_equal(rows[2].parent, 10);
	assert_int_equal(rows[2].uid, 33);
	assert_string_equal(profile_str(p, (uint32_t)rows[2].user), "www-data");
	assert_string_equal(profile_str(p, (uint32_t)rows[2].cgroup),
			    "/system.slice/docker-" CONTAINER ".scope");
	assert_string_equal(profile_str(p, (uint32_t)rows[2].container), CONTAINER);
	assert_string_equal(profile_str(p, (uint32_t)rows[2].engine), "docker");
	assert_string_equal(profile_str(p, (uint32_t)rows[3].user), "");
	profile_free(p);
	free(note);
}

static void recording_of_a_later_major_version_is_refused(void **state)
{
	FILE *f = fopen(LATER, "rb");
	struct profile *p;
	char *note;

	(void)state;
	assert_non_null(f);
	assert_int_equal(recfile_read(f, &p, &note), -EPROTONOSUPPORT);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_recording_reads_as_ever),
		cmocka_unit_test(killed_recording_reads_as_ever),
		cmocka_unit_test(processes_read_as_ever),
		cmocka_unit_test(recording_of_a_later_major_version_is_refused),
	};

	return cmocka_run_group_tests(tests, regenerate, NULL);
}
