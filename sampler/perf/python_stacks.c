/*
 * A sample of a process with Python waits, with all that are younger, until a reader has sent what
 * it read, or for as long as that can take. By then the records of the thread's switches have come
 * too. The frames count only if the thread stood still from the sample to the end of the reading
 * (thread_switches.c) and if their places on the C stack are those of the native frames.
 */
#include "sampler/perf/python_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/portable/frames.h"
#include "core/profile/profile.h"
#include "core/untrusted/shared_memory.h"
#include "sampler/perf/frame_reader.h"
#include "sampler/perf/reader_memory.h"
#include "sampler/perf/task_events.h"
#include "sampler/perf/thread_switches.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/runtimes/python/interpreter_files.h"
#include "sampler/runtimes/python/merge_frames.h"
#include "sampler/sink/limits.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/target/process.h"
#include "sampler/walk/snapshot_unwind.h"

#define WAIT_NS (50ull * 1000 * 1000)	/* a sample waits at most so long for its frames */
#define KEPT_NS (2000ull * 1000 * 1000) /* frames wait at most so long for their sample */
#define STUCK_NS UINT64_C(1000000000)	/* a reader that takes longer is left behind */
#define MAX_WAITING 4096u
#define MAX_STUCK 32u

/* A sample that waits, or the frames that were read for one. */
struct waiting {
	struct {
		uint64_t time_ns;
		int64_t tid;
	} key;
	uint64_t came_ns;
	bool sampled, arrived;
	struct reader_stack head;
	uint64_t *words;
	UT_hash_handle hh;
};

struct reader_process {
	pid_t pid; /* 0: does not run */
	struct reader_config config;
	uint64_t tail;
};

struct python_stacks {
	struct limits *limits;
	struct python_files *files;
	struct python_codes *codes;
	struct code_reader *code_reader;
	struct thread_switches *switches;
	struct waiting *waiting;
	struct reader_targets *targets;
	struct reader_process *readers;
	size_t nr_readers;
	bool started;
	int wake_fd;
	pid_t stuck[MAX_STUCK]; /* processes whose memory is not read any more */
	size_t nr_stuck;
	uint64_t nr_read, nr_dropped; /* samples of Python threads */
	uint64_t record[RING_MAX_RECORD];
	uint64_t merged[MAX_USER_FRAMES + READER_MAX_WORDS];
};

struct python_stacks *python_stacks_new(struct limits *limits, const struct sandbox *sandbox)
{
	struct python_stacks *s = xcalloc(1, sizeof(*s));

	s->limits = limits;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->targets = shared_memory_of_children(sizeof(*s->targets));
	if (s->wake_fd < 0 || !s->targets) {
		log_warning("no Python frames: out of memory or descriptors");
		python_stacks_free(s);
		return NULL;
	}
	s->files = python_files_new();
	s->code_reader = code_reader_new(sandbox);
	s->codes = python_codes_new(s->code_reader);
	s->switches = thread_switches_new();
	return s;
}

static void forget(struct python_stacks *s, struct waiting *w)
{
	HASH_DEL(s->waiting, w);
	free(w->words);
	free(w);
}

/* A reader may be stuck in a read: then the end of its parent will end it. */
static void end_reader(struct reader_process *r)
{
	if (r->pid <= 0)
		return;
	kill(r->pid, SIGKILL);
	for (int i = 0; i < 20 && !waitpid(r->pid, NULL, WNOHANG); i++)
		usleep(1000);
	r->pid = 0;
}

static void report(const struct python_stacks *s)
{
	uint64_t all = s->nr_read + s->nr_dropped;

	if (s->nr_dropped * 100 > all) {
		log_warning("%.1f%% of %" PRIu64 " samples of Python threads have no Python "
			    "frames: these could not be read before the threads ran on",
			    100.0 * (double)s->nr_dropped / (double)all, all);
		log_hint("--source timer has them all, where it can come into the program");
	} else if (all) {
		log_debug("%" PRIu64 " of %" PRIu64 " samples of Python threads without their "
			  "frames",
			  s->nr_dropped, all);
	}
}

void python_stacks_free(struct python_stacks *s)
{
	struct waiting *w, *next;

	if (!s)
		return;
	report(s);
	for (size_t i = 0; i < s->nr_readers; i++) {
		end_reader(&s->readers[i]);
		munmap(s->readers[i].config.shared, sizeof(struct reader_shared));
	}
	HASH_ITER (hh, s->waiting, w, next)
		forget(s, w);
	free(s->readers);
	if (s->targets)
		munmap(s->targets, sizeof(*s->targets));
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	thread_switches_free(s->switches);
	python_codes_free(s->codes);
	code_reader_free(s->code_reader);
	python_files_free(s->files);
	free(s);
}

struct python_codes *python_stacks_codes(struct python_stacks *s)
{
	return s ? s->codes : NULL;
}

int python_stacks_event_fd(const struct python_stacks *s)
{
	return s->wake_fd;
}

/* Its place in the table, or -1. */
static int place_of(const struct python_stacks *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->targets->nr; i++)
		if (s->targets->pids[i] == pid)
			return (int)i;
	return -1;
}

static bool is_stuck(const struct python_stacks *s, pid_t pid)
{
	for (size_t i = 0; i < s->nr_stuck; i++)
		if (s->stuck[i] == pid)
			return true;
	return false;
}

static void remove_target(struct python_stacks *s, pid_t pid)
{
	int place = place_of(s, pid);

	if (place >= 0)
		__atomic_store_n(&s->targets->pids[place], 0, __ATOMIC_RELEASE);
}

static void set_target(struct python_stacks *s, pid_t pid, const struct py_layout *layout)
{
	struct reader_targets *t = s->targets;
	int place = place_of(s, pid);

	if (place >= 0 && !memcmp(&t->layouts[place], layout, sizeof(*layout)))
		return;
	if (place < 0)
		place = place_of(s, 0);
	if (place < 0 && t->nr < READER_PROCESSES)
		place = (int)t->nr;
	if (place < 0) {
		limit_hit(s->limits, LIMIT_PYTHONS,
			  "more than %u Python processes: further ones have native frames only",
			  READER_PROCESSES);
		return;
	}
	__atomic_add_fetch(&t->turns[place], 1, __ATOMIC_ACQ_REL);
	t->layouts[place] = *layout;
	__atomic_add_fetch(&t->turns[place], 1, __ATOMIC_RELEASE);
	__atomic_store_n(&t->pids[place], pid, __ATOMIC_RELEASE);
	if ((uint32_t)place == t->nr)
		__atomic_store_n(&t->nr, t->nr + 1, __ATOMIC_RELEASE);
}

void python_stacks_update(struct python_stacks *s, const struct process *p)
{
	struct py_layout layout;

	if (!s)
		return;
	if (!is_stuck(s, p->pid) && python_files_find(s->files, p, &layout))
		set_target(s, p->pid, &layout);
	else
		remove_target(s, p->pid);
}

void python_stacks_thread_ended(struct python_stacks *s, pid_t tid)
{
	if (s)
		thread_switches_forget(s->switches, tid);
}

void python_stacks_forget(struct python_stacks *s, const struct process *p)
{
	if (s)
		remove_target(s, p->pid);
}

static void start_readers(struct python_stacks *s, const struct perf_events *events)
{
	struct reader_config config = {
		.has_chain = perf_events_see_kernel(events),
		.wake_fd = s->wake_fd,
		.targets = s->targets,
	};
	size_t capacity = 0;

	s->started = true;
	for (size_t i = 0;
	     perf_events_ring(events, i, &config.cpu, &config.event_fd, &config.ring_size); i++) {
		struct reader_process *r;

		if (config.event_fd < 0)
			continue;
		config.cpu_index = i;
		config.shared = shared_memory_of_children(sizeof(*config.shared));
		if (!config.shared)
			break;
		s->readers = xgrow(s->readers, &capacity, s->nr_readers + 1, sizeof(*s->readers));
		r = &s->readers[s->nr_readers++];
		*r = (struct reader_process){ .config = config };
		r->pid = frame_reader_start(&r->config);
		if (r->pid < 0)
			log_error(-r->pid, "start the reader of Python frames on CPU %d",
				  config.cpu);
	}
}

/* Its read did not return: another reader takes its place, and the target is left alone. */
static void leave_behind(struct python_stacks *s, struct reader_process *r)
{
	pid_t target = r->config.shared->busy_pid;

	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, WNOHANG);
	r->pid = 0;
	remove_target(s, target);
	if (s->nr_stuck == MAX_STUCK)
		return;
	s->stuck[s->nr_stuck++] = target;
	log_warning("a read of the memory of process %d did not return within %" PRIu64
		    " ms: it has no Python frames any more",
		    (int)target, STUCK_NS / NS_PER_MS);
	munmap(r->config.shared, sizeof(*r->config.shared)); /* the old one may still write */
	r->config.shared = shared_memory_of_children(sizeof(*r->config.shared));
	r->tail = 0;
	if (r->config.shared)
		r->pid = frame_reader_start(&r->config);
}

static void take_code(struct python_stacks *s, size_t nr)
{
	/* the words are a copy, aligned as the record is */
	if (!python_codes_add(s->codes, READER_PID(s->record[1]),
			      (const struct code_record *)(s->record + 2), (nr - 2) * 8))
		__atomic_add_fetch(&s->targets->forget, 1, __ATOMIC_RELAXED);
}

static struct waiting *waiting_of(struct python_stacks *s, uint64_t time_ns, pid_t tid)
{
	struct waiting *w, probe = { .key = { time_ns, tid } };

	HASH_FIND(hh, s->waiting, &probe.key, sizeof(probe.key), w);
	if (w)
		return w;
	if (HASH_COUNT(s->waiting) >= MAX_WAITING)
		forget(s, s->waiting);
	w = xcalloc(1, sizeof(*w));
	w->key = probe.key;
	w->came_ns = monotonic_ns();
	HASH_ADD(hh, s->waiting, key, sizeof(w->key), w);
	return w;
}

static void take_stack(struct python_stacks *s, size_t nr)
{
	const size_t head_words = sizeof(struct reader_stack) / 8;
	struct reader_stack head;
	struct waiting *w;

	if (nr < 2 + head_words)
		return;
	memcpy(&head, s->record + 2, sizeof(head));
	if (head.nr_words > nr - 2 - head_words || head.gil >= NR_GIL)
		return;
	w = waiting_of(s, head.sampled_ns, head.tid);
	if (w->arrived)
		return;
	w->arrived = true;
	w->head = head;
	w->words = xmalloc((head.nr_words + 1) * sizeof(*w->words));
	memcpy(w->words, s->record + 2 + head_words, head.nr_words * sizeof(*w->words));
}

static void take_records(struct python_stacks *s, struct reader_process *r)
{
	struct reader_shared *shared = r->config.shared;
	uint32_t nr;

	/* A record that is not whole is of a reader that was killed, or the next round's. */
	while (ring_peek(&shared->ring, (__u64 *)shared->words, READER_RING_WORDS, r->tail, &nr) ==
	       RING_RECORD) {
		for (uint32_t i = 0; i < nr; i++)
			s->record[i] =
				ring_get((__u64 *)shared->words, READER_RING_WORDS, r->tail + i);
		if (READER_KIND(s->record[1]) == READER_CODE)
			take_code(s, nr);
		else if (READER_KIND(s->record[1]) == READER_STACK)
			take_stack(s, nr);
		r->tail += nr;
		ring_release(&shared->ring, r->tail);
	}
}

static void watch(struct python_stacks *s, struct reader_process *r, uint64_t now)
{
	uint64_t since = __atomic_load_n(&r->config.shared->busy_ns, __ATOMIC_ACQUIRE);

	if (r->pid > 0 && waitpid(r->pid, NULL, WNOHANG) == r->pid)
		r->pid = 0;
	if (r->pid > 0 && since && now > since + STUCK_NS)
		leave_behind(s, r);
}

bool python_stacks_poll(struct python_stacks *s, const struct perf_events *events)
{
	uint64_t count, now = monotonic_ns();

	if (!s)
		return false;
	if (!s->started && s->targets->nr)
		start_readers(s, events);
	if (read(s->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return false;
	for (size_t i = 0; i < s->nr_readers; i++) {
		if (!s->readers[i].config.shared)
			continue;
		take_records(s, &s->readers[i]);
		watch(s, &s->readers[i], now);
	}
	return s->started;
}

void python_stacks_on_record(struct python_stacks *s, const struct perf_record *r)
{
	if (!s)
		return;
	switch (r->type) {
	case PERF_SWITCHED:
		if (place_of(s, r->pid) < 0)
			break;
		thread_switches_add(s->switches, r->tid, r->time_ns,
				    !r->is_out	      ? SWITCH_IN
				    : r->is_preempted ? SWITCH_PREEMPTED
						      : SWITCH_OUT);
		break;
	case PERF_SAMPLE_TAKEN:
		if (s->started && place_of(s, r->pid) >= 0)
			waiting_of(s, r->time_ns, r->tid)->sampled = true;
		break;
	default: break;
	}
}

uint64_t python_stacks_horizon(struct python_stacks *s)
{
	uint64_t horizon = UINT64_MAX, now = monotonic_ns();
	struct waiting *w, *next;

	if (!s)
		return horizon;
	/* Also while there are no samples: threads that only wait go on switching. */
	thread_switches_handled(s->switches, now - KEPT_NS);
	HASH_ITER (hh, s->waiting, w, next) {
		if (now > w->key.time_ns + KEPT_NS && now > w->came_ns + KEPT_NS)
			forget(s, w);
		else if (w->sampled && !w->arrived && now < w->key.time_ns + WAIT_NS &&
			 w->key.time_ns < horizon)
			horizon = w->key.time_ns;
	}
	return horizon;
}

static bool merge(struct python_stacks *s, const struct waiting *found,
		  const struct py_layout *layout, const struct snapshot_result *native,
		  uint64_t *user, struct walked *w)
{
	const struct native_stack stack = { user, native->sps, native->nr };
	const struct python_runs runs = {
		.words = found->words,
		.nr = found->head.nr_words,
		.eval_start = layout->eval_start,
		.eval_size = layout->eval_end - layout->eval_start,
	};
	const size_t room = sizeof(s->merged) / sizeof(*s->merged);
	struct native_stack rest;
	size_t nr, leaf;

	if (native->gap || !native->sps ||
	    !python_merge_fits(&stack, &runs, native->marker < 0, &leaf))
		return false;
	rest = (struct native_stack){ user + leaf, native->sps + leaf, native->nr - leaf };
	memcpy(s->merged, user, leaf * sizeof(*user));
	nr = leaf + python_merge(&rest, &runs, s->merged + leaf, room - leaf);
	w->gap = python_merge_cut(user, s->merged, nr, MAX_USER_FRAMES);
	w->nr_user = nr < MAX_USER_FRAMES ? nr : MAX_USER_FRAMES;
	return true;
}

uint8_t python_stacks_merge(struct python_stacks *s, const struct process *p,
			    const struct perf_record *r, const struct snapshot_result *native,
			    uint64_t *user, struct walked *w)
{
	struct waiting *found, probe = { .key = { r->time_ns, r->tid } };
	uint8_t gil = GIL_UNKNOWN;
	int place = s ? place_of(s, p->pid) : -1;
	bool whole = false;

	if (place < 0)
		return gil;
	HASH_FIND(hh, s->waiting, &probe.key, sizeof(probe.key), found);
	if (found && found->arrived && !found->head.known && !found->head.broken) {
		/* No Python thread, whether it stood still or not. */
		gil = found->head.gil;
		forget(s, found);
		return gil;
	}
	if (found && found->arrived &&
	    thread_stood_still(s->switches, r->tid, r->time_ns, found->head.read_ns,
			       found->head.late)) {
		gil = found->head.gil;
		whole = !found->head.broken;
		if (found->head.nr_words)
			whole &= merge(s, found, &s->targets->layouts[place], native, user, w);
	}
	s->nr_read += whole;
	s->nr_dropped += !whole;
	w->python_broken = !whole;
	thread_switches_handled(s->switches, r->time_ns);
	if (found)
		forget(s, found);
	return gil;
}
