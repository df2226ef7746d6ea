/*
 * Finds the functions before and after the lock on each stack: first come the frames of the thread
 * that waits, then the reason, the lock, and the frames of the thread that ended the wait, its leaf
 * first (record --wakers). What that thread had waited for before may follow.
 */
#include "output/insight/lock_frames.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/tree/program_function.h"
#include "output/tree/naming.h"

#define LOCK_PREFIX "lock 0x"

enum side { WANTED_IN, RELEASED_IN, NR_SIDES };

/* What one stack says. */
struct told {
	uint64_t lock; /* 0: nothing */
	uint32_t function[NR_SIDES];
};

struct weighed {
	struct {
		uint64_t pid, lock;
		uint32_t function, side;
	} key;
	uint64_t weight;
	UT_hash_handle hh;
};

struct lock_frames {
	struct tree_functions names;
	struct weighed *sums;
};

/*
 * Sets *best to the function if it is better: one of the program is better than one of a library,
 * and of two such the later one if `last` is set, else the earlier one.
 */
static void take(const struct tree_functions *names, uint32_t function, bool last, uint32_t *best)
{
	const struct tree_function *f = &names->list[function];
	bool is_own = program_function_is(f),
	     has_own = *best && program_function_is(&names->list[*best]);

	if (f->kind == FUNCTION_PYTHON &&
	    (!*best || (is_own && !has_own) || (last && is_own == has_own)))
		*best = function;
}

static struct told read_stack(const struct profile *p, const struct tree_functions *names,
			      const struct profile_stack *stack)
{
	struct naming_walk at = { .p = p, .names = names, .stack = stack };
	struct told told = { 0 };

	while (naming_next(&at)) {
		uint32_t function = FRAME_FUNCTION(at.code);
		const struct tree_function *f = &names->list[function];

		if (f->kind == FUNCTION_WAIT && told.lock && !begins_with(f->name, WOKEN_BY))
			break;
		if (f->kind == FUNCTION_WAIT && !told.lock && begins_with(f->name, LOCK_PREFIX))
			told.lock = strtoull(f->name + strlen("lock "), NULL, 16);
		/* The innermost function of the waiter comes last, that of the waker first. */
		if (told.lock)
			take(names, function, false, &told.function[RELEASED_IN]);
		else
			take(names, function, true, &told.function[WANTED_IN]);
	}
	return told;
}

static void add(struct lock_frames *l, uint64_t pid, uint64_t lock, uint32_t function,
		uint32_t side, uint64_t weight)
{
	struct weighed *w, new;

	memset(&new, 0, sizeof(new));
	new.key.pid = pid;
	new.key.lock = lock;
	new.key.function = function;
	new.key.side = side;
	HASH_FIND(hh, l->sums, &new.key, sizeof(new.key), w);
	if (!w) {
		w = xmalloc(sizeof(*w));
		*w = new;
		HASH_ADD(hh, l->sums, key, sizeof(w->key), w);
	}
	w->weight += weight;
}

struct lock_frames *lock_frames_new(const struct profile *p)
{
	struct lock_frames *l = xcalloc(1, sizeof(*l));
	struct told *told = xcalloc(p->nr_stacks + 1, sizeof(*told));

	naming_init(&l->names, p);
	for (size_t i = 0; i < p->nr_stacks; i++)
		told[i] = read_stack(p, &l->names, &p->stacks[i]);
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->column != COLUMN_WAITING || !told[s->stack].lock ||
		    s->thread >= p->nr_threads)
			continue;
		for (uint32_t side = 0; side < NR_SIDES; side++)
			if (told[s->stack].function[side])
				add(l, hosts_process(&p->threads[s->thread]), told[s->stack].lock,
				    told[s->stack].function[side], side, s->weight);
	}
	free(told);
	return l;
}

void lock_frames_free(struct lock_frames *l)
{
	struct weighed *w, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->sums, w, next) {
		HASH_DEL(l->sums, w);
		free(w);
	}
	tree_functions_fini(&l->names);
	free(l);
}

static const char *find(const struct lock_frames *l, uint64_t pid, uint64_t address, enum side side)
{
	const struct weighed *most = NULL;

	for (const struct weighed *w = l->sums; w; w = w->hh.next)
		if (w->key.pid == pid && w->key.lock == address && w->key.side == side &&
		    (!most || w->weight > most->weight))
			most = w;
	return most ? l->names.list[most->key.function].name : "";
}

const char *lock_frames_wanted_in(const struct lock_frames *l, uint64_t pid, uint64_t address)
{
	return find(l, pid, address, WANTED_IN);
}

const char *lock_frames_released_in(const struct lock_frames *l, uint64_t pid, uint64_t address)
{
	return find(l, pid, address, RELEASED_IN);
}
