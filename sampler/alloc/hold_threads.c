/*
 * All threads that the list names are asked to stop, and then each is waited for: on a busy machine
 * each must get a CPU before it stops. Then the list is read again until it names none that is new,
 * because a thread that was not stopped yet may have started another one.
 */
#include "sampler/alloc/hold_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/quiesce.h"
#include "sampler/inject/x86_64/registers.h"

#define ROUNDS 64u
#define STACK_BYTES 65536u
#define RED_ZONE 128u
#define HUNG_LIMIT_MS 1000u
#define NAP_NS 100000

struct held {
	struct inject_thread thread;
	pid_t tid;
};

struct held_threads {
	const struct inject_process *process;
	struct held **threads;
	size_t nr, capacity;
	uint64_t since_ns;
};

static bool is_held(const struct held_threads *h, pid_t tid)
{
	for (size_t i = 0; i < h->nr; i++)
		if (h->threads[i]->tid == tid)
			return true;
	return false;
}

/* Asks the threads to stop that were not asked yet. */
static void ask_new(struct held_threads *h)
{
	DIR *threads = proc_threads(h->process->pid);
	pid_t tid;

	while ((tid = proc_next(threads))) {
		struct held *held;

		if (is_held(h, tid))
			continue;
		held = xcalloc(1, sizeof(*held));
		held->tid = tid;
		/* A thread that cannot be seized has ended and runs no more code. */
		if (inject_thread_ask_stop(&held->thread, h->process, tid)) {
			free(held);
			continue;
		}
		h->threads = xgrow(h->threads, &h->capacity, h->nr + 1, sizeof(struct held *));
		h->threads[h->nr++] = held;
	}
	proc_close(threads);
}

static unsigned int left_ms(uint64_t until_ns)
{
	uint64_t now = monotonic_ns();

	return now < until_ns ? (unsigned int)((until_ns - now) / NS_PER_MS) : 0;
}

/* Waits for the threads from `from` on. 0, or -EBUSY: one did not stop. */
static int await_new(struct held_threads *h, size_t from, uint64_t until_ns)
{
	int result = 0;

	for (size_t i = from; i < h->nr; i++) {
		struct held *held = h->threads[i];
		int err = inject_thread_await_stop(&held->thread, held->tid, left_ms(until_ns));

		if (err && err != -ESRCH)
			result = -EBUSY;
	}
	return result;
}

int hold_threads(const struct inject_process *process, unsigned int limit_ms,
		 struct held_threads **ret)
{
	struct held_threads *h = xcalloc(1, sizeof(*h));
	uint64_t until_ns;
	size_t before;
	int err = 0;

	h->process = process;
	h->since_ns = monotonic_ns();
	until_ns = h->since_ns + limit_ms * NS_PER_MS;
	for (unsigned int i = 0; !err; i++) {
		before = h->nr;
		ask_new(h);
		if (h->nr == before)
			break;
		err = i < ROUNDS ? await_new(h, before, until_ns) : -EBUSY;
	}
	if (!err && h->nr) {
		*ret = h;
		return 0;
	}
	err = h->nr ? -EBUSY : -ESRCH;
	hold_threads_release(h);
	return err;
}

/* A thread that did not stop in time is waited for: it must not be left stopped. */
static void let_go(struct held *held)
{
	uint64_t until_ns = monotonic_ns() + HUNG_LIMIT_MS * NS_PER_MS;

	inject_thread_release_hung(&held->thread);
	while (held->thread.nr_hung && monotonic_ns() < until_ns) {
		nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
		inject_thread_release_hung(&held->thread);
	}
	free(held);
}

void hold_threads_release(struct held_threads *h)
{
	/* Those that stand still go on first. */
	for (size_t i = 0; h && i < h->nr; i++)
		if (h->threads[i]->thread.tid)
			inject_thread_release(&h->threads[i]->thread, true);
	for (size_t i = 0; h && i < h->nr; i++)
		let_go(h->threads[i]);
	if (h)
		free(h->threads);
	free(h);
}

static bool is_in(const struct quiesce_range *ranges, size_t nr, uint64_t address)
{
	for (size_t i = 0; i < nr; i++)
		if (address >= ranges[i].start && address < ranges[i].end)
			return true;
	return false;
}

/* Reads less where the stack ends: all that the file of its memory hands out. */
static size_t read_stack(const struct held_threads *h, uint64_t sp, uint64_t *words)
{
	uint64_t start = (sp - RED_ZONE) & ~7ull;
	ssize_t size = pread(h->process->mem_fd, words, STACK_BYTES, (off_t)start);

	return size > 0 ? (size_t)size / 8 : 0;
}

typedef bool is_meant_fn(const uint64_t *words, size_t nr);

static bool any_word(const uint64_t *words, size_t nr)
{
	(void)words;
	return nr > 0;
}

static bool find_inside(const struct held_threads *h, const struct quiesce_range *ranges, size_t nr,
			is_meant_fn *is_meant)
{
	uint64_t *words = xmalloc(STACK_BYTES);
	bool inside = false;

	for (size_t i = 0; i < h->nr && !inside; i++) {
		const struct user_regs_struct *regs = &h->threads[i]->thread.state.regs;
		size_t nr_words;

		if (!h->threads[i]->thread.tid)
			continue; /* it ended while it was waited for */
		nr_words = read_stack(h, inject_regs_sp(regs), words);
		inside = is_in(ranges, nr, inject_regs_pc(regs));
		for (size_t at = 0; at < nr_words && !inside; at++)
			inside =
				is_in(ranges, nr, words[at]) && is_meant(words + at, nr_words - at);
	}
	free(words);
	return inside;
}

bool hold_threads_inside(const struct held_threads *h, const struct quiesce_range *ranges,
			 size_t nr)
{
	return find_inside(h, ranges, nr, any_word);
}

bool hold_threads_interrupted(const struct held_threads *h, const struct quiesce_range *ranges,
			      size_t nr)
{
	return find_inside(h, ranges, nr, inject_frame_is_pc);
}

size_t hold_threads_nr(const struct held_threads *h)
{
	return h->nr;
}

uint64_t hold_threads_since_ns(const struct held_threads *h)
{
	return h->since_ns;
}
