/*
 * Keeps the last switches of each thread. A thread that switched more often since the sample than
 * are kept is taken to have run on.
 */
#include "sampler/perf/thread_switches.h"

#include <stdlib.h>

#include <uthash.h>

#include "core/base/alloc.h"

#define KEPT 128u /* power of two; switches of a thread */
#define MAX_THREADS 65536u
/*
 * From the time in a sample to the switch that it brought about: copying the stack and leaving the
 * interrupt take 30 us, on a slow virtual machine up to 100. A thread that goes on instead loses
 * its CPU at the next tick, 1 ms or more later.
 */
#define AT_ONCE_NS 150000u

struct times {
	pid_t tid;
	uint32_t nr; /* ever */
	uint64_t switches[KEPT]; /* ns << 2 | enum thread_switch */
	UT_hash_handle hh;
};

struct thread_switches {
	struct times *threads;
};

struct thread_switches *thread_switches_new(void)
{
	return xcalloc(1, sizeof(struct thread_switches));
}

static void forget(struct thread_switches *s, struct times *t)
{
	HASH_DEL(s->threads, t);
	free(t);
}

void thread_switches_free(struct thread_switches *s)
{
	struct times *t, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->threads, t, next)
		forget(s, t);
	free(s);
}

void thread_switches_forget(struct thread_switches *s, pid_t tid)
{
	struct times *t;

	HASH_FIND_INT(s->threads, &tid, t);
	if (t)
		forget(s, t);
}

void thread_switches_add(struct thread_switches *s, pid_t tid, uint64_t time_ns,
			 enum thread_switch what)
{
	struct times *t;

	HASH_FIND_INT(s->threads, &tid, t);
	if (!t) {
		if (HASH_COUNT(s->threads) >= MAX_THREADS)
			forget(s, s->threads);
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		HASH_ADD_INT(s->threads, tid, t);
	}
	t->switches[t->nr++ & (KEPT - 1)] = time_ns << 2 | what;
}

bool thread_stood_still(const struct thread_switches *s, pid_t tid, uint64_t sampled_ns,
			uint64_t read_ns)
{
	uint64_t oldest = UINT64_MAX, left = 0, came = UINT64_MAX;
	enum thread_switch how = SWITCH_OUT;
	const struct times *t;

	HASH_FIND_INT(s->threads, &tid, t);
	for (uint32_t i = 0; t && i < t->nr && i < KEPT; i++) {
		uint64_t ns = t->switches[i] >> 2;
		enum thread_switch what = t->switches[i] & 3;

		oldest = ns < oldest ? ns : oldest;
		if (ns < sampled_ns)
			continue;
		if (what == SWITCH_IN) {
			came = ns < came ? ns : came;
		} else if (!left || ns < left) {
			left = ns;
			how = what;
		}
	}
	if (!left || (t->nr > KEPT && oldest > sampled_ns))
		return false;
	return how == SWITCH_PREEMPTED && left - sampled_ns <= AT_ONCE_NS && left <= read_ns &&
	       came > read_ns;
}
