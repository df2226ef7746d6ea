/*
 * Stops one thread at a time: while it is stopped its registers, up to 4 MiB of stack and its
 * Python frames are copied, bounded in size and time; it is unwound after it runs again. Bytes of
 * the target's memory are never trusted.
 */
#include "sampler/dump.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "core/profile/source.h"
#include "core/portable/pylayout.h"
#include "core/portable/frames.h"
#include "core/sandbox/sandbox.h"
#include "sampler/dump_regs_x86_64.h"
#include "sampler/target/mapped_file.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/reason.h"
#include "sampler/walk/confined/confined_walk.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"
#include "sampler/target/registers_x86_64.h"
#include "sampler/runtimes/python/asyncio.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/runtimes/python/stopped_thread.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/thread_wait.h"
#include "sampler/waiting/lock_places.h"

#define PAGE 4096u
#define MAX_PAGES 1024u /* IOV_MAX: 4 MiB of stack at once */
#define MAX_FRAMES 4096u
#define MAX_TRIES 4

struct dump_state {
	struct file_table *files;
	struct process process;
	struct py_layout layout;
	bool is_python;
	struct asyncio_layout asyncio;
	bool has_asyncio;
	struct python_codes *python_codes;
	struct code_reader *code_reader;
	struct python_stopped *python;
	struct python_reader reader;
	struct python_tasks tasks;
	struct sample_sink out;
	struct profile_stats stats;
	struct confined_walk *walk;
	bool warned; /* of a stack that was not walked */
	struct lock_places *locks;
	struct inject_process target;
	struct inject_thread thread;
	uint8_t *stack; /* MAX_PAGES */
	uint64_t native[MAX_FRAMES], merged[2 * MAX_FRAMES];
};

static void read_line(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	proc_text(text, size, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	text[strcspn(text, "\n")] = '\0';
}

static void describe(struct lock_places *locks, pid_t pid, struct dump_thread *t)
{
	char stat[512], *after;

	proc_name(pid, t->tid, t->name, sizeof(t->name));
	read_line(pid, t->tid, "wchan", t->waits_in, sizeof(t->waits_in));
	if (!strcmp(t->waits_in, "0"))
		t->waits_in[0] = '\0';
	read_line(pid, t->tid, "stat", stat, sizeof(stat));
	after = strrchr(stat, ')'); /* the name before it may hold any byte */
	t->state = after && after[1] == ' ' && isalpha((unsigned char)after[2]) ? after[2] : '?';
	t->waits_for[0] = '\0';
	if (t->state == 'S' || t->state == 'D')
		thread_wait_describe(locks, pid, t->tid, t->waits_in, t->waits_for,
				     sizeof(t->waits_for));
}

static int compare_threads(const void *a, const void *b)
{
	const struct dump_thread *t = a, *u = b;

	return ORDER(t->tid, u->tid);
}

static int list_threads(struct dump *d, pid_t pid)
{
	DIR *threads = proc_threads(pid);
	int err = threads ? 0 : -errno;
	size_t capacity = 0;
	pid_t tid;

	while ((tid = proc_next(threads))) {
		d->threads = xgrow(d->threads, &capacity, d->nr_threads + 1, sizeof(*d->threads));
		d->threads[d->nr_threads++] =
			(struct dump_thread){ .tid = tid, .stack = PROFILE_NONE };
	}
	proc_close(threads);
	if (d->nr_threads)
		qsort(d->threads, d->nr_threads, sizeof(*d->threads), compare_threads);
	return err;
}

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct dump_state *s = context;

	return snapshot_find_mapping(&s->process, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct dump_state *s = context;

	return snapshot_open_module(s->files, module, ret);
}

/*
 * Copies the stack from `sp` up to the first page that is not mapped; returns the number of bytes.
 * A read of a page in a file whose server does not answer cannot even be killed: a reader makes it.
 */
static size_t copy_stack(struct dump_state *s, uint64_t sp)
{
	ssize_t n = remote_read(s->process.pid, sp, s->stack, MAX_PAGES * PAGE - sp % PAGE);

	return n > 0 ? (size_t)n : 0;
}

/* Says so, once, where the last stack was not walked. */
static void warn_of_failure(struct dump_state *s, const struct dump_thread *t)
{
	int err = confined_walk_error(s->walk);
	const char *reason = sandbox_failure(err);

	if (err && !s->warned)
		log_warning("the stack of thread %d ends after one frame, because a file was not "
			    "read: %s",
			    (int)t->tid, reason ? reason : strerror(-err));
	s->warned = s->warned || err;
}

static void unwind(struct dump_state *s, struct dump_thread *t,
		   const struct snapshot_sample *sample)
{
	uint64_t frames[MAX_USER_FRAMES];
	struct snapshot_result result = confined_walk_run(s->walk, sample, s->native, MAX_FRAMES);
	struct walked w = { .user = frames, .marker = result.marker, .gap = result.gap };
	const uint64_t *all = s->native;
	size_t nr = result.nr;

	warn_of_failure(s, t);
	if (s->is_python && result.sps) {
		const struct native_stack stack = { s->native, result.sps, result.nr };

		nr = python_merge(&stack, &s->python->runs, s->merged, 2 * MAX_FRAMES);
		all = s->merged;
		w.python_broken = s->python->broken;
	}
	w.nr_user = nr < MAX_USER_FRAMES ? nr : MAX_USER_FRAMES;
	memcpy(frames, all, w.nr_user * sizeof(*frames));
	if (nr > MAX_USER_FRAMES) {
		size_t nr_root = MAX_USER_FRAMES / 4;

		w.gap = MAX_USER_FRAMES - nr_root;
		memcpy(frames + w.gap, all + nr - nr_root, nr_root * sizeof(*frames));
		w.marker = MARKER_TOO_DEEP;
	}
	t->stack = sample_sink_stack(&s->out, &s->process, &w).stack;
}

static void take_python(struct dump_state *s, pid_t tid, uint64_t thread_pointer,
			uint64_t deadline_ns)
{
	python_stopped_walk(s->python, &s->reader, thread_pointer, deadline_ns);
	python_tasks_drop(&s->tasks, tid); /* those of an earlier try */
	if (s->has_asyncio)
		python_tasks_add(&s->tasks, &s->asyncio, &s->reader, s->python->thread_state, tid,
				 deadline_ns);
}

/* Takes the stack of a thread. false: it was released before all its Python frames were read. */
static bool take_thread(struct dump_state *s, struct dump_thread *t)
{
	const struct user_regs_struct *regs = &s->thread.state.regs;
	struct snapshot_sample sample = { .stack = s->stack };

	uint64_t held_ns;

	t->error = inject_thread_stop_one(&s->thread, &s->target, t->tid, DUMP_WAIT_MS);
	if (t->error)
		return true;
	held_ns = monotonic_ns();
	sample.regs = registers_of_ptrace(regs);
	/* Before the stack, because that is copied by another thread, which may wait for a CPU. */
	if (s->is_python)
		take_python(s, t->tid, dump_thread_pointer(regs),
			    held_ns + DUMP_STOP_MS * 1000000ull);
	sample.stack_start = sample.regs.sp;
	sample.stack_size = copy_stack(s, sample.regs.sp);
	t->stopped_ns = inject_thread_release(&s->thread, true) - held_ns;
	if (dump_is_32bit(regs)) {
		struct walked w = { .marker = MARKER_COMPAT_32BIT };

		t->stack = sample_sink_stack(&s->out, &s->process, &w).stack;
		return true;
	}
	unwind(s, t, &sample);
	return !s->is_python || !s->python->broken || t->stopped_ns < DUMP_STOP_MS * 1000000ull;
}

static uint32_t stack_of_task(struct dump_state *s, const struct python_task *t)
{
	const uint64_t *frames = s->tasks.frames + t->first_frame;
	struct walked w = { .user = frames, .marker = -1 };

	w.nr_user = t->nr_frames < MAX_USER_FRAMES ? t->nr_frames : MAX_USER_FRAMES;
	if (w.nr_user < t->nr_frames)
		w.marker = MARKER_TOO_DEEP;
	return sample_sink_stack(&s->out, &s->process, &w).stack;
}

static void list_tasks(struct dump *d)
{
	struct dump_state *s = d->state;

	python_tasks_link(&s->tasks);
	d->tasks = xcalloc(s->tasks.nr + 1, sizeof(*d->tasks));
	d->nr_tasks = s->tasks.nr;
	d->nr_unread_tasks = s->tasks.nr_unread;
	for (size_t i = 0; i < d->nr_tasks; i++) {
		const struct python_task *t = &s->tasks.tasks[i];

		d->tasks[i] = (struct dump_task){
			.name = t->name,
			.tid = t->tid,
			.state = t->state,
			.stack = t->nr_frames ? stack_of_task(s, t) : PROFILE_NONE,
			.awaiters = s->tasks.awaiters + t->first_awaiter,
			.nr_awaiters = t->nr_awaiters,
		};
	}
}

static struct dump *dump_alloc(pid_t pid, const struct sandbox *sandbox)
{
	static const struct snapshot_ops ops = { .find_mapping = find_mapping,
						 .open_module = open_module };
	struct dump *d = xcalloc(1, sizeof(*d));
	struct dump_state *s = xcalloc(1, sizeof(*s));

	d->profile = profile_new();
	d->state = s;
	s->process.pid = pid;
	s->files = file_table_new();
	s->code_reader = code_reader_new(sandbox);
	s->python_codes = python_codes_new(s->code_reader);
	s->python = python_stopped_new(MAX_FRAMES);
	s->stack = xmalloc(MAX_PAGES * PAGE);
	s->walk = confined_walk_new(&ops, s, sandbox);
	s->locks = lock_places_new(sandbox);
	s->target.mem_fd = -1;
	sample_sink_init(&s->out, &s->stats);
	s->out.sink = profile_sink_new(d->profile);
	s->out.python_codes = s->python_codes;
	return d;
}

static void ignore_file(void *context, struct mapped_file *file)
{
	(void)context;
	(void)file;
}

int dump_new(pid_t pid, const struct sandbox *sandbox, struct dump **ret_dump, char *why,
	     size_t why_size, char *hint, size_t hint_size)
{
	struct inject_reason reason = { 0 };
	struct dump *d = dump_alloc(pid, sandbox);
	struct dump_state *s = d->state;
	int err;

	file_table_confine(s->files, sandbox);
	err = inject_process_open(&s->target, pid, INJECT_TO_READ, &reason);
	if (!err && !inject_thread_can_seize(s->target.thread))
		err = inject_refuse(&reason, -ETIMEDOUT, "",
				    "it is starting a program, which takes too long");
	if (err) {
		snprintf(why, why_size, "%s", reason.why);
		snprintf(hint, hint_size, "%s", reason.hint);
		goto out;
	}
	err = process_read_maps(&s->process, s->files, ignore_file, NULL);
	if (!err)
		err = list_threads(d, pid);
	if (err) {
		snprintf(why, why_size, "%s", strerror(-err));
		snprintf(hint, hint_size, "%s", "");
		goto out;
	}
	s->is_python = python_find(&s->process, &s->layout, d->python, sizeof(d->python));
	s->has_asyncio = s->is_python && python_asyncio_find(&s->process, &s->layout, &s->asyncio);
	if (s->has_asyncio)
		python_tasks_init(&s->tasks);
	s->reader = (struct python_reader){
		.pid = pid,
		.layout = &s->layout,
		.codes = s->python_codes,
	};
	for (size_t i = 0; i < d->nr_threads; i++) {
		describe(s->locks, pid, &d->threads[i]);
		/* On a busy machine sprof loses the CPU while it holds a thread: it tries again. */
		for (int tries = 0; tries < MAX_TRIES; tries++)
			if (take_thread(s, &d->threads[i]))
				break;
	}
	list_tasks(d);
	*ret_dump = d;
	return 0;
out:
	dump_free(d);
	return err;
}

void dump_free(struct dump *d)
{
	struct dump_state *s;

	if (!d)
		return;
	s = d->state;
	inject_thread_release_hung(&s->thread);
	inject_process_close(&s->target);
	confined_walk_free(s->walk);
	lock_places_free(s->locks);
	python_codes_free(s->python_codes);
	code_reader_free(s->code_reader);
	python_tasks_fini(&s->tasks);
	profile_sink_free(s->out.sink);
	sample_sink_fini(&s->out);
	process_fini(&s->process);
	file_table_free(s->files);
	free(s->python);
	free(s->stack);
	free(s);
	profile_free(d->profile);
	free(d->threads);
	free(d->tasks);
	free(d);
}

int dump_open_module(void *dump, uint32_t module)
{
	const struct dump *d = dump;

	return file_table_open_module(d->state->files, module);
}

int dump_open_root(void *dump, uint32_t module, size_t *ret_prefix)
{
	const struct dump *d = dump;

	return file_table_open_root(d->state->files, module, ret_prefix);
}
