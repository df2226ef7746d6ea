/*
 * Attaching stops one thread, which maps what is shared (hand_over.h) and our code near the
 * allocator's; then the code and the stubs are written, and then all threads are held for the
 * moment in which the jumps are written. Detaching does the same backwards. If the recorder dies in
 * between, nothing of what it mapped is in use; if it dies later, the counters run on by
 * themselves until the heartbeat is missed, and then take no more samples.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/portable/walk_tables.h"
#include "sampler/alloc/alloc_memory.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/alloc/hold_threads.h"
#include "sampler/alloc/left_memory.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/quiesce.h"
#include "sampler/walk/walk_publisher.h"

#define HOLD_LIMIT_MS 100u
#define HOLD_TRIES 50
#define QUIET_TRIES 200
#define PAUSE_NS 500000
#define MAP_TRIES 4
#define DETACH_TRIES 6
#define FIRST_PAUSE_NS (20 * 1000 * 1000) /* as attach.c */
#define ALIVE_NS LEFT_MEMORY_NS
#define LEFT_MAX 16u /* recorders that were killed, at a time */

struct work {
	struct alloc_target *target;
	struct inject_reason *reason;
};

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

/* What a recorder that was killed has shared is not mapped here, but written in the target. */
static void set_stage(struct alloc_target *t, const struct inject_process *p,
		      enum alloc_stage stage)
{
	const uint64_t value = stage;

	if (t->shared)
		__atomic_store_n(&t->shared->stage, value, __ATOMIC_RELAXED);
	else if (t->shared_at)
		inject_process_write(p, t->shared_at + offsetof(struct alloc_shared, stage), &value,
				     sizeof(value));
}

/* ---- attaching */

static int turn_on(struct alloc_target *t, const struct hook_set *hooks,
		   const struct inject_process *p, struct inject_reason *reason)
{
	int err = -EAGAIN;

	for (int tries = 0; tries < HOLD_TRIES && (err == -EAGAIN || err == -EBUSY); tries++) {
		struct held_threads *held;

		if (tries)
			pause_for(PAUSE_NS);
		__atomic_store_n(&t->shared->heartbeat_ns, monotonic_ns(), __ATOMIC_RELAXED);
		err = hold_threads(p, HOLD_LIMIT_MS, &held);
		if (err)
			continue;
		/* While all threads are held, no other recorder changes it. */
		set_stage(t, p, ALLOC_STAGE_CHANGING);
		err = alloc_memory_is_there(p, t) ? hook_set_on(hooks, p, held) : -ENOENT;
		set_stage(t, p, err && !t->on ? ALLOC_STAGE_MAPPED : ALLOC_STAGE_ON);
		t->nr_held = hold_threads_nr(held);
		t->held_ns = monotonic_ns() - hold_threads_since_ns(held);
		hold_threads_release(held);
	}
	if (!err || err == -ESRCH)
		return err;
	if (err == -ESTALE)
		return inject_refuse(reason, err, "",
				     "another tool writes into its allocation functions");
	if (err == -ENOENT)
		return inject_refuse(reason, err, "wait for its end, or end it",
				     "another sprof has begun to sample its allocations");
	return inject_refuse(reason, err, "try again", "its threads could not be held: %s",
			     strerror(-err));
}

static bool is_inside(const struct inject_process *p, const struct alloc_target *t,
		      const struct held_threads *held)
{
	const struct quiesce_range code = { t->code, t->code + ALLOC_CODE_SIZE };
	uint64_t nr_inside = 1;

	inject_process_read(p, t->private_memory + offsetof(struct alloc_private, nr_inside),
			    &nr_inside, sizeof(nr_inside));
	return nr_inside || hold_threads_interrupted(held, &code, 1);
}

/*
 * Once the hooks are off, no thread enters any more, so it is enough to see all threads outside at
 * one moment.
 */
static int turn_off(struct alloc_target *t, const struct inject_process *p)
{
	int err = -EBUSY;

	for (int tries = 0; tries < QUIET_TRIES && (err == -EBUSY || err == -EAGAIN); tries++) {
		struct held_threads *held;

		if (tries)
			pause_for(PAUSE_NS);
		err = hold_threads(p, HOLD_LIMIT_MS, &held);
		if (err)
			continue;
		if (t->on) {
			set_stage(t, p, ALLOC_STAGE_CHANGING);
			err = hook_set_off(&t->hooks, p);
		}
		t->on = t->on && err;
		set_stage(t, p, t->on ? ALLOC_STAGE_ON : ALLOC_STAGE_OFF);
		if (!err && is_inside(p, t, held))
			err = -EAGAIN;
		hold_threads_release(held);
	}
	return err;
}

/* ---- what a recorder that was killed has left */

/* Does the recorder whose hooks these are still run? */
static bool is_alive(const struct inject_process *p, const struct alloc_private *head)
{
	uint64_t beat[2] = { 0, 0 }; /* heartbeat_ns and heartbeat_limit_ns */

	if (head->magic != ALLOC_MAGIC ||
	    inject_process_read(p, head->shared + offsetof(struct alloc_shared, heartbeat_ns), beat,
				sizeof(beat)))
		return false;
	return monotonic_ns() - beat[0] < ALIVE_NS;
}

/*
 * Turns off the hooks that are left, and unmaps what belongs to them. In a child that was forked
 * while its parent was sampled, all but the code and zeros is missing.
 */
static int recover(struct inject *i, const struct alloc_target *t, struct inject_reason *reason)
{
	struct alloc_target old = {
		.pid = t->pid,
		.code = t->hooks.left_code,
		.private_memory = t->hooks.left_code + ALLOC_CODE_SIZE,
		.has_code = true,
		.on = true,
	};
	const struct inject_process *p = inject_process(i);
	struct alloc_private head;
	int err;

	if (inject_process_read(p, old.private_memory, &head,
				offsetof(struct alloc_private, counters)))
		return inject_refuse(reason, -EFAULT, "", "its old hooks cannot be read");
	if (is_alive(p, &head))
		return inject_refuse(reason, -EBUSY, "wait for its end, or end it",
				     "another sprof samples its allocations");
	if (head.magic == ALLOC_MAGIC) {
		old.shared_at = head.shared;
		old.end = head.arena + sizeof(struct walk_arena);
	}
	hook_set_of_left(&t->hooks, &old.hooks);
	err = turn_off(&old, p);
	hook_set_fini(&old.hooks);
	if (err)
		return inject_refuse(reason, err, "try again",
				     "the hooks of a sprof that was killed could not be removed: "
				     "%s",
				     strerror(-err));
	return alloc_memory_unmap(i, &old, reason);
}

/*
 * Unmaps what no hook leads to: a recorder was killed before its hooks were on, or when they were
 * off again. Best effort: what stays is found again by the next one.
 */
static void remove_left(struct inject *i, pid_t pid)
{
	const struct inject_process *p = inject_process(i);
	struct left_memory left[LEFT_MAX];
	size_t nr = left_memory_find(p, left, LEFT_MAX);

	for (size_t k = 0; k < nr; k++) {
		struct alloc_target old = {
			.pid = pid,
			.code = left[k].code,
			.private_memory = left[k].code + ALLOC_CODE_SIZE,
			.has_code = left[k].code != 0,
			.shared_at = left[k].start,
			.end = left[k].end,
		};

		if (!old.code || !turn_off(&old, p))
			alloc_memory_unmap(i, &old, &(struct inject_reason){ 0 });
	}
}

/*
 * Plans the functions from number `from` on, and Python's tables unless these are hooked already.
 */
static int plan(struct alloc_target *t, const struct inject_process *p, size_t from,
		struct hook_set *ret, struct inject_reason *reason)
{
	const struct alloc_function **all =
		xcalloc(t->nr_functions + PYTHON_NR_SLOTS, sizeof(*all));
	const struct py_layout *layout = walk_target_python(t->walk);
	size_t nr = t->nr_functions;
	int err;

	memcpy(all, t->functions, nr * sizeof(*all));
	if (!from || !t->nr_slots) {
		t->nr_slots = python_tables_find(p, layout, all, nr, t->slots, &t->python_why);
		for (size_t i = 0; i < t->nr_slots; i++)
			all[nr++] = &t->slots[i];
	}
	err = hook_set_plan(p, all, nr, from, ret, reason);
	free(all);
	return err;
}

static int begin(struct inject *i, void *context)
{
	struct work *w = context;
	struct alloc_target *t = w->target;
	int err;

	hook_set_fini(&t->hooks);
	err = plan(t, inject_process(i), 0, &t->hooks, w->reason);
	if (!err && t->hooks.left_code)
		err = recover(i, t, w->reason);
	if (!err)
		remove_left(i, t->pid);
	if (!err)
		err = alloc_memory_choose(t, w->reason);
	if (!err)
		err = alloc_memory_map(i, t, w->reason);
	if (err)
		return err;
	err = alloc_memory_write(i, t);
	if (err)
		inject_refuse(w->reason, err, "", "the hooks could not be prepared in it: %s",
			      strerror(-err));
	else
		err = turn_on(t, &t->hooks, inject_process(i), w->reason);
	if (err && err != -ENOENT)
		alloc_memory_unmap(i, t, &(struct inject_reason){ 0 });
	return err;
}

int alloc_target_attach(struct alloc_target *t, struct inject_reason *reason)
{
	struct work w = { t, reason };
	int err = -ETIMEDOUT;

	/* -ETIMEDOUT: we got no CPU while its thread was held, and it has gone on by itself. */
	for (int tries = 0; tries < MAP_TRIES && err == -ETIMEDOUT; tries++) {
		if (tries)
			pause_for(FIRST_PAUSE_NS << (tries - 1));
		err = inject_run(t->pid, 0, begin, &w, reason);
	}
	t->on = !err;
	return err;
}

/* ---- modules that were loaded later */

struct extension {
	struct alloc_target *target;
	size_t from;
	struct inject_reason *reason;
};

static bool has_slots(const struct hook_set *hooks)
{
	for (size_t i = 0; i < hooks->nr; i++)
		if (hooks->hooks[i].plan.is_slot)
			return true;
	return false;
}

static int extend(struct inject *i, void *context)
{
	struct extension *e = context;
	struct alloc_target *t = e->target;
	const struct inject_process *p = inject_process(i);
	const struct hook_memory memory = { t->code, t->private_memory, alloc_memory_payload(),
					    t->nr_stubs };
	struct hook_set more = { 0 };
	int err;

	if (!alloc_memory_is_there(p, t))
		return inject_refuse(e->reason, -ESRCH, "", "it runs another program now");
	err = plan(t, p, e->from, &more, e->reason);
	if (err)
		return err;
	err = hook_set_write_stubs(&more, p, &memory);
	t->nr_stubs += more.nr;
	if (err)
		inject_refuse(e->reason, err, "",
			      err == -ERANGE ? "they are too far away from the other hooks"
					     : "the process could not be written");
	else
		err = turn_on(t, &more, p, e->reason);
	if (!err) {
		hook_set_join(&t->hooks, &more);
		return 0;
	}
	hook_set_fini(&more);
	if (!has_slots(&t->hooks))
		t->nr_slots = 0;
	return err;
}

int alloc_target_extend(struct alloc_target *t, size_t from, struct inject_reason *reason)
{
	struct extension e = { t, from, reason };

	return inject_run(t->pid, 0, extend, &e, reason);
}

static int renew(struct inject *i, void *context)
{
	struct work *w = context;
	const struct inject_process *p = inject_process(i);
	struct hook_set undone;
	int err = 0;

	if (!alloc_memory_is_there(p, w->target))
		return 0;
	hook_set_of_undone(&w->target->hooks, p, 0, &undone);
	if (undone.nr)
		err = turn_on(w->target, &undone, p, w->reason);
	hook_set_fini(&undone);
	return err;
}

int alloc_target_renew(struct alloc_target *t, struct inject_reason *reason)
{
	struct work w = { t, reason };
	struct hook_set undone;
	size_t nr;

	hook_set_of_undone(&t->hooks, NULL, t->pid, &undone);
	nr = undone.nr;
	hook_set_fini(&undone);
	return nr ? inject_run(t->pid, 0, renew, &w, reason) : 0;
}

/* ---- detaching */

static int end(struct inject *i, void *context)
{
	struct work *w = context;
	struct alloc_target *t = w->target;
	const struct inject_process *p = inject_process(i);
	int err;

	if (!alloc_memory_is_there(p, t))
		return 0;
	err = turn_off(t, p);
	if (err == -ESTALE)
		return inject_refuse(w->reason, err, "",
				     "another tool has written over its hooks, so they stay, "
				     "without samples");
	if (err && !t->on)
		return inject_refuse(w->reason, err, "",
				     "a thread stands in a hook, so %u KiB of code stay mapped",
				     (unsigned int)((ALLOC_CODE_SIZE + ALLOC_PRIVATE_SIZE) >> 10));
	if (err)
		return inject_refuse(w->reason, err, "", "its threads could not be held: %s",
				     strerror(-err));
	return alloc_memory_unmap(i, t, w->reason);
}

static bool may_try_again(int err)
{
	return err && err != -ESRCH && err != -ESTALE && err != -EPERM && err != -EAGAIN;
}

int alloc_target_detach(struct alloc_target *t, struct inject_reason *reason)
{
	struct work w = { t, reason };
	int err = -EBUSY;

	__atomic_store_n(&t->shared->interval, 0, __ATOMIC_RELAXED);
	t->stop_ns = monotonic_ns();
	/* On a busy machine its thread may not stop, or not answer, in time. */
	for (int tries = 0; tries < DETACH_TRIES && may_try_again(err); tries++) {
		if (tries)
			pause_for(FIRST_PAUSE_NS << (tries - 1));
		err = inject_run(t->pid, 0, end, &w, reason);
	}
	/* What stays may be removed at once: our heartbeat need not be missed first. */
	__atomic_store_n(&t->shared->heartbeat_ns, 0, __ATOMIC_RELAXED);
	return err == -ESRCH ? 0 : err;
}
