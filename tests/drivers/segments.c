/*
 * segments DIR NR SECONDS HZ PROCESSES [HOST [UNIX-TIME]]: writes what a flight recorder leaves in
 * a folder: NR segments of so many seconds, with HZ samples per second of that many processes
 * together. Stacks are 30 deep; each process has 300, of which a few have most of the samples. The
 * first segment begins at UNIX-TIME (default: 2023-11-14). Each segment also tells of waits for
 * locks, of a thread that ended in it and of system calls, in numbers that are known.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/portable/call_times.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "core/segments/folder.h"
#include "core/segments/names_folder.h"
#include "core/segments/segment_sink.h"

#define DEPTH 30
#define SOME_STACKS 300
#define NS UINT64_C(1000000000)

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

/* As programs are: a few stacks have most of the samples. */
static uint32_t draw_skewed(void)
{
	return draw(draw(draw(SOME_STACKS) + 1) + 1);
}

static uint32_t text(struct sink *to, const char *s)
{
	return to->string(to, s, strlen(s));
}

struct program {
	uint32_t module, thread, stacks[SOME_STACKS];
};

static void make_program(struct sink *to, uint32_t i, struct program *p)
{
	char *path = xasprintf("/usr/bin/program%u", i), *comm = xasprintf("program%u", i);
	struct profile_module m = {
		.kind = MODULE_ELF,
		.path = text(to, path),
		.build_id_size = 4,
		.build_id = { 1, 2, (uint8_t)(i >> 8), (uint8_t)i },
	};

	p->module = to->module(to, &m);
	p->thread = to->thread(to, 1000 + i, 1000 + i, text(to, comm));
	for (uint32_t s = 0; s < SOME_STACKS; s++) {
		uint32_t frames[DEPTH];

		for (uint32_t k = 0; k < DEPTH; k++)
			frames[k] = to->frame(to, p->module, 0x1000 + k * 64 + (s >> k % 8) % 8);
		/* the function in which half of the samples are */
		frames[DEPTH - 1] = to->frame(to, p->module, 0x9000 + (s & 1 ? s : 0));
		p->stacks[s] = to->stack(to, frames, DEPTH);
	}
	free(path);
	free(comm);
}

/* Every address is a function. */
static void write_names(struct folder *folder, uint32_t nr_programs)
{
	int names = folder_open_names(folder_fd(folder));
	struct profile *vocabulary = profile_new();
	struct sink *to = profile_sink_new(vocabulary);

	for (uint32_t i = 0; i < nr_programs; i++)
		make_program(to, i, &(struct program){ 0 });
	for (uint32_t i = 0; i < vocabulary->nr_frames; i++) {
		char *name = xasprintf("function_%x", (unsigned int)vocabulary->frames[i].address);
		struct profile_function f = { .module = vocabulary->frames[i].module };
		struct profile_location l = { .line = 1 };

		f.name = f.system_name = profile_cstring(vocabulary, name);
		l.function = profile_function(vocabulary, &f);
		profile_set_locations(vocabulary, i, &l, 1);
		free(name);
	}
	if (names < 0 || names_folder_write(names, vocabulary))
		exit(1);
	profile_sink_free(to);
	profile_free(vocabulary);
	close(names);
}

/*
 * In segment `s`, counted from 1: the first process waited s times for a lock, for s ms, one thread
 * of its lived all the time, one that is watched since the first segment has ended, and further
 * ones, and so many calls of read() and of write() took s us each; the histogram of write() is
 * missing, as in recordings of older versions. All is told twice, as a recorder does.
 */
static void write_facts(struct sink *to, const struct program *p, uint32_t s, uint64_t start_ns,
			uint64_t ns)
{
	uint32_t once = to->thread(to, 1000, 2000 + s, text(to, "once"));
	uint32_t old = to->thread(to, 1000, 3000 + s, text(to, "old"));

	for (uint32_t part = 2; part; part--) {
		const struct fact_lock_wait lock = {
			.pid = 1000,
			.address = 0x7000,
			.thread = p->thread,
			.holder = once,
			.known_by = HOLDER_OWNER,
			.place = text(to, "program0+0x7000"),
			.waits = s / part,
			.samples = 1,
			.waiting_ns = s * 1000000 / part,
			.variance_us2 = 4,
			.longest_ns = s * 1000 / part,
		};
		const struct fact_lock_wait same = {
			.pid = 1000,
			.address = 0x8000,
			.thread = p->thread,
			.holder = PROFILE_NONE,
			.waits = s / part,
			.samples = 1,
			.waiting_ns = s * 1000000 / part,
			.longest_ns = s * 1000 / part,
		};
		const struct fact_thread_time times[] = {
			{ 1000, once, start_ns, 1, ns, ns / 2, ns / 4, ns / 4, 10, 0 },
			{ 1000, old, 1000 * NS, 1, start_ns + ns - 1000 * NS, ns, 0,
			  start_ns - 1000 * NS, 10, 0 },
			{ 0, PROFILE_NONE, 0, 2, 2 * ns, ns, 0, ns, 20, 0 },
		};
		const struct fact_system_call read = {
			.name = text(to, "read"),
			.calls = s / part,
			.errors = 1,
			.total_ns = s * 1000 * s / part,
			.p50_ns = s * 1000,
			.p99_ns = 9000,
			.max_ns = s * 1000,
		};
		const uint32_t bucket = call_bucket_of(s * 1000);
		struct fact_system_call write = read;
		struct fact_call_times times_of_read = { .octave = bucket / CALL_OCTAVE };

		write.number = 1;
		write.name = text(to, "write");
		times_of_read.calls[bucket % CALL_OCTAVE] = read.calls;
		to->fact(to, FACT_LOCK_WAIT, &lock);
		to->fact(to, FACT_LOCK_WAIT, &same);
		for (size_t i = 0; i < 3; i++)
			to->fact(to, FACT_THREAD_TIME, &times[i]);
		to->fact(to, FACT_SYSTEM_CALL, &read);
		to->fact(to, FACT_SYSTEM_CALL, &write);
		to->fact(to, FACT_CALL_TIMES, &times_of_read);
	}
}

int main(int argc, char **argv)
{
	uint32_t nr = argc > 5 ? (uint32_t)atoi(argv[2]) : 0;
	uint64_t seconds = argc > 5 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t hz = argc > 5 ? strtoull(argv[4], NULL, 10) : 0;
	uint32_t processes = argc > 5 ? (uint32_t)atoi(argv[5]) : 0;
	uint64_t start = (argc > 7 ? strtoull(argv[7], NULL, 10) : 1700000000) * NS;
	struct segment_sink *sink = segment_sink_new(0);
	struct sink *front = segment_sink_front(sink);
	struct program *programs;
	struct folder *folder;
	pid_t owner;

	if (!nr || !seconds || !hz || !processes) {
		fprintf(stderr, "usage: segments DIR NR SECONDS HZ PROCESSES [HOST [TIME]]\n");
		return 2;
	}
	programs = xcalloc(processes, sizeof(*programs));
	for (uint32_t i = 0; i < processes; i++)
		make_program(front, i, &programs[i]);
	if (folder_open(&(struct folder_opts){ .path = argv[1] }, &folder, &owner))
		return 1;
	write_names(folder, processes);
	for (uint32_t s = 0; s < nr; s++) {
		const struct recfile_meta meta = {
			.hostname = argc > 6 ? argv[6] : "host",
			.boot = "boot",
			.kernel = "6.1.0",
			.command = "whole system",
			.source = "ebpf",
			.event = "cpu-clock",
			.version = SPROF_VERSION,
			.freq_hz = (uint32_t)hz,
			.nr_cpus = 1,
			.start_realtime_ns = start + s * seconds * NS,
			.start_ns = 1000 * NS + s * seconds * NS,
			.names_beside = true,
		};
		/* written when it ended */
		const time_t end = (time_t)((meta.start_realtime_ns + seconds * NS) / NS);
		const struct timespec times[2] = { { .tv_sec = end }, { .tv_sec = end } };
		char name[SEGMENT_NAME_SIZE];
		int fd = folder_create_segment(folder, meta.start_realtime_ns, name);
		struct recfile *file;

		if (fd < 0 || recfile_create_in(fd, &meta, &file))
			return 1;
		segment_sink_turn(sink, recfile_sink(file));
		for (uint64_t i = 0; i < hz * seconds; i++) {
			const struct program *p = &programs[draw(processes)];

			front->sample(front, &(struct profile_sample){
						     .time_ns = meta.start_ns + i * NS / hz,
						     .weight = NS / hz,
						     .thread = p->thread,
						     .stack = p->stacks[draw_skewed()],
					     });
		}
		write_facts(front, &programs[0], s + 1, meta.start_ns, seconds * NS);
		if (recfile_finish(file, NULL, meta.start_ns + seconds * NS) ||
		    utimensat(folder_fd(folder), name, times, AT_SYMLINK_NOFOLLOW))
			return 1;
		recfile_free(file);
	}
	folder_free(folder);
	segment_sink_free(sink);
	free(programs);
	return 0;
}
