/*
 * Keeps the switches of each thread until the samples before them have been handled. Of a thread
 * that switches too often for that the oldest are dropped, and it is taken to have run on.
 */
#include "sampler/perf/thread_switches.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"

#define MAX_KEPT 16384u /* switches of a thread */
#define MAX_THREADS 65536u
/*
 * From the time in a sample to the switch that it brought about: copying the stack and leaving the
 * interrupt take 30 us, on a slow virtual machine up to 100. A thread that goes on instead loses
 * its CPU at the next tick, 1 ms or more later.
 */
#define AT_ONCE_NS 150000u
#define LATE_AT_ONCE_NS 60000u /* nineteen of twenty are within it */

struct times {
	pid_t tid;
	uint64_t complete_ns; /* since then none was dropped */
	size_t nr, capacity;
	uint64_t *switches; /* ns << 2 | enum thread_switch */
	UT_hash_handle hh;
};

struct thread_switches {
	struct times *threads;
	uint64_t handled_ns; /* older samples have been handled */
};

struct thread_switches *thread_switches_new(void)
{
	return xcalloc(1, sizeof(struct thread_switches));
}

static void forget(struct thread_switches *s, struct times *t)
{
	HASH_DEL(s->threads, t);
	free(t->switches);
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

void thread_switches_handled(struct thread_switches *s, uint64_t before_ns)
{
	if (before_ns > s->handled_ns)
		s->handled_ns = before_ns;
}

/* Drops what is not needed any more, and the oldest if that is little. */
static void make_room(const struct thread_switches *s, struct times *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->nr; i++)
		if (t->switches[i] >> 2 >= s->handled_ns)
			t->switches[kept++] = t->switches[i];
	t->nr = kept;
	if (kept < MAX_KEPT / 2)
		return;
	for (size_t i = 0; i < kept / 2; i++)
		if (t->switches[i] >> 2 > t->complete_ns)
			t->complete_ns = t->switches[i] >> 2;
	t->nr = kept - kept / 2;
	memmove(t->switches, t->switches + kept / 2, t->nr * sizeof(*t->switches));
}

void thread_switches_add(struct thread_switches *s, pid_t tid, uint64_t time_ns,
			 enum thread_switch what)
{
	struct times *t;
	size_t needed;

	HASH_FIND_INT(s->threads, &tid, t);
	if (!t) {
		if (HASH_COUNT(s->threads) >= MAX_THREADS)
			forget(s, s->threads);
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		HASH_ADD_INT(s->threads, tid, t);
	}
	if (t->nr == t->capacity) {
		make_room(s, t);
		/* While half of it is needed, it grows: room is not made at each switch. */
		needed = 2 * t->nr > t->capacity ? t->capacity + 1 : t->nr + 1;
		t->switches = xgrow(t->switches, &t->capacity, needed, sizeof(*t->switches));
	}
	t->switches[t->nr++] = time_ns << 2 | what;
}

bool thread_stood_still(const struct thread_switches *s, pid_t tid, uint64_t sampled_ns,
			uint64_t read_ns, bool late)
{
	uint64_t left = 0, came = UINT64_MAX, limit = late ? LATE_AT_ONCE_NS : AT_ONCE_NS;
	enum thread_switch how = SWITCH_OUT;
	const struct times *t;

	HASH_FIND_INT(s->threads, &tid, t);
	if (!t || t->complete_ns >= sampled_ns)
		return false;
	for (size_t i = 0; i < t->nr; i++) {
		uint64_t ns = t->switches[i] >> 2;
		enum thread_switch what = t->switches[i] & 3;

		if (ns < sampled_ns)
			continue;
		if (what == SWITCH_IN) {
			came = ns < came ? ns : came;
		} else if (!left || ns < left) {
			left = ns;
			how = what;
		}
	}
	return left && how == SWITCH_PREEMPTED && left - sampled_ns <= limit && left <= read_ns &&
	       came > read_ns;
}
