/*
 * Attaching stops one thread, which maps what is shared (hand_over.h) and our code near the
 * allocator's; then the code and the stubs are written, and then all threads are held for the
 * moment in which the jumps are written. Detaching does the same backwards. If the recorder dies in
 * between, nothing of what it mapped is in use; if it dies later, the counters run on by
 * themselves until the heartbeat is missed, and then take no more samples.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/portable/walk_tables.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/alloc/hold_threads.h"
#include "sampler/alloc/near_gap.h"
#include "sampler/attach/attach.h"
#include "sampler/attach/hand_over.h"
#include "sampler/attach/payload.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/quiesce.h"

#define STOP_LIMIT_MS 500u
#define CALL_LIMIT_MS 1000u
#define HOLD_LIMIT_MS 100u
#define HOLD_TRIES 50
#define QUIET_TRIES 200
#define PAUSE_NS 500000
#define MAP_TRIES 4
#define DETACH_TRIES 6
#define FIRST_PAUSE_NS (20 * 1000 * 1000) /* as attach.c */
#define ALIVE_NS (2000ull * 1000 * 1000)
#define PAGE 4096ull
#define PRIVATE_SIZE ((sizeof(struct alloc_private) + PAGE - 1) & ~(PAGE - 1))

struct work {
	struct alloc_target *target;
	struct inject_reason *reason;
};

static const struct alloc_payload *payload(void)
{
	return (const struct alloc_payload *)alloc_payload_bin;
}

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

/* ---- memory */

/* With the arguments that seccomp filters were asked about (seccomp_calls.h). */
static struct inject_call map_private_call(const struct alloc_target *t)
{
	return (struct inject_call){
		SYS_mmap,
		{ t->code, ALLOC_CODE_SIZE + PRIVATE_SIZE, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 },
		0,
	};
}

/* The shared part, then the tables of the walker, behind the stub. */
static int map_shared(struct inject *i, struct alloc_target *t, struct inject_reason *reason)
{
	const uint64_t stub = inject_stub(i), shared = stub + INJECT_STUB_SIZE,
		       space = shared + sizeof(struct alloc_shared),
		       arena = space + sizeof(struct walk_space),
		       end = arena + sizeof(struct walk_arena);
	const struct attach_layout first = { stub, shared, shared, space, space, space };
	const struct attach_layout second = { stub, space, space, space, arena, end };
	struct attach_files files = { .region_fd = t->shared_fd, .arena_fd = -1 };
	const struct inject_call then = map_private_call(t);
	const struct inject_call quiet = { SYS_madvise,
					   { t->private_memory, PRIVATE_SIZE, MADV_WIPEONFORK },
					   0 };
	int64_t result = 0;
	int err;

	t->shared_at = shared;
	t->end = end;
	err = attach_memory_map(i, &files, &first, &then, &result, reason);
	if (!err && result != (int64_t)t->code)
		return inject_refuse(reason, result < 0 ? (int)result : -ENOMEM, "try again",
				     "memory near its allocator could not be mapped");
	files = (struct attach_files){
		.region_fd = t->space_fd,
		.arena_fd = t->arena_fd,
		.arena_size = sizeof(struct walk_arena),
	};
	if (!err)
		err = attach_memory_map(i, &files, &second, &quiet, &result, reason);
	if (!err && result)
		return inject_refuse(reason, (int)result, "", "madvise(2) in it failed: %s",
				     strerror((int)-result));
	return err;
}

/* Best effort: what is not mapped is no error. The stub stays. */
static void unmap_all(struct inject *i, const struct alloc_target *t)
{
	struct inject_call calls[2] = {
		{ SYS_munmap, { t->code, ALLOC_CODE_SIZE + PRIVATE_SIZE }, 0 },
		{ SYS_munmap, { t->shared_at, t->end - t->shared_at }, 0 },
	};

	inject_calls(i, calls, t->shared_at ? 2 : 1, CALL_LIMIT_MS);
}

static int protect_private(struct inject *i, const struct alloc_target *t,
			   struct inject_reason *reason)
{
	struct inject_call call = { SYS_mprotect,
				    { t->private_memory, PRIVATE_SIZE, PROT_READ | PROT_WRITE },
				    0 };
	int err = inject_calls(i, &call, 1, CALL_LIMIT_MS);

	if (!err && call.result)
		err = (int)(int64_t)call.result;
	return err ? inject_refuse(reason, err, "", "memory could not be made writable in it: %s",
				   strerror(-err))
		   : 0;
}

static int write_code(const struct inject *i, struct alloc_target *t)
{
	const struct inject_process *p = inject_process(i);
	const struct hook_memory memory = { t->code, t->private_memory, payload() };
	const struct alloc_private head = {
		.shared = t->shared_at,
		.space = t->shared_at + sizeof(struct alloc_shared),
		.arena = t->shared_at + sizeof(struct alloc_shared) + sizeof(struct walk_space),
		.magic = ALLOC_MAGIC,
	};

	if (alloc_payload_bin_size > ALLOC_STUBS_AT)
		return -EFBIG;
	if (inject_process_write(p, t->code, alloc_payload_bin, alloc_payload_bin_size) ||
	    inject_process_write(p, t->private_memory, &head,
				 offsetof(struct alloc_private, counters)))
		return -EFAULT;
	return hook_set_write_stubs(&t->hooks, p, &memory);
}

/* ---- attaching */

/* The lowest and the highest function that is hooked. */
static void hooked_range(const struct alloc_target *t, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < t->hooks.nr; i++) {
		uint64_t at = t->hooks.hooks[i].plan.function;

		*low = at < *low ? at : *low;
		*high = at > *high ? at : *high;
	}
}

static int choose_place(struct alloc_target *t, struct inject_reason *reason)
{
	uint64_t low, high;

	hooked_range(t, &low, &high);
	t->code = near_gap_find(t->pid, low, high, ALLOC_CODE_SIZE + PRIVATE_SIZE);
	t->private_memory = t->code + ALLOC_CODE_SIZE;
	return t->code ? 0
		       : inject_refuse(reason, -ENOMEM, "",
				       "there are no free addresses near its allocator");
}

static int turn_on(struct alloc_target *t, const struct inject_process *p,
		   struct inject_reason *reason)
{
	int err = -EAGAIN;

	for (int tries = 0; tries < HOLD_TRIES && (err == -EAGAIN || err == -EBUSY); tries++) {
		struct held_threads *held;

		if (tries)
			pause_for(PAUSE_NS);
		err = hold_threads(p, HOLD_LIMIT_MS, &held);
		if (err)
			continue;
		err = hook_set_on(&t->hooks, p, held);
		t->nr_held = hold_threads_nr(held);
		t->held_ns = monotonic_ns() - hold_threads_since_ns(held);
		hold_threads_release(held);
	}
	if (!err || err == -ESRCH)
		return err;
	if (err == -ESTALE)
		return inject_refuse(reason, err, "",
				     "another tool writes into its allocation functions");
	return inject_refuse(reason, err, "try again", "its threads could not be held: %s",
			     strerror(-err));
}

/* After the hooks are off, or were never on. */
static int unmap_memory(struct inject *i, struct alloc_target *t, struct inject_reason *reason)
{
	int err = inject_stop(i, STOP_LIMIT_MS, NULL, NULL, reason);

	if (err)
		return err;
	unmap_all(i, t);
	return inject_unmap(i, inject_stub(i), INJECT_STUB_SIZE);
}

static int map_memory(struct inject *i, struct work *w)
{
	struct alloc_target *t = w->target;
	int err = inject_stop(i, STOP_LIMIT_MS, NULL, NULL, w->reason);

	t->shared_at = 0;
	if (err)
		return err;
	err = map_shared(i, t, w->reason);
	if (!err)
		err = protect_private(i, t, w->reason);
	/* The thread may still be doing what it was asked for, only late: it is stopped first. */
	if (err)
		inject_halt(i);
	/* Our own parts stay mapped; the stub is needed no more. */
	inject_unmap(i, inject_stub(i), INJECT_STUB_SIZE);
	if (err)
		unmap_memory(i, t, &(struct inject_reason){ "", "" });
	return err;
}

static bool is_inside(const struct inject_process *p, const struct alloc_target *t,
		      const struct held_threads *held)
{
	const struct quiesce_range code = { t->code, t->code + ALLOC_CODE_SIZE };
	uint64_t nr_inside = 1;

	inject_process_read(p, t->private_memory + offsetof(struct alloc_private, nr_inside),
			    &nr_inside, sizeof(nr_inside));
	return nr_inside || hold_threads_inside(held, &code, 1);
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
		if (t->on)
			err = hook_set_off(&t->hooks, p);
		if (!err)
			t->on = false;
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
	return unmap_memory(i, &old, reason);
}

static int begin(struct inject *i, void *context)
{
	struct work *w = context;
	struct alloc_target *t = w->target;
	int err;

	hook_set_fini(&t->hooks);
	err = hook_set_plan(inject_process(i), t->functions, t->nr_functions, &t->hooks, w->reason);
	if (!err && t->hooks.left_code)
		err = recover(i, t, w->reason);
	if (!err)
		err = choose_place(t, w->reason);
	if (!err)
		err = map_memory(i, w);
	if (err)
		return err;
	err = write_code(i, t);
	if (err)
		inject_refuse(w->reason, err, "", "the hooks could not be prepared in it: %s",
			      strerror(-err));
	else
		err = turn_on(t, inject_process(i), w->reason);
	if (err)
		unmap_memory(i, t, &(struct inject_reason){ "", "" });
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

/* ---- detaching */

/* Is this still the program that was hooked? */
static bool is_ours(const struct inject_process *p, const struct alloc_target *t)
{
	uint64_t magic = 0;

	return !inject_process_read(p, t->private_memory, &magic, sizeof(magic)) &&
	       magic == ALLOC_MAGIC;
}

static int end(struct inject *i, void *context)
{
	struct work *w = context;
	struct alloc_target *t = w->target;
	const struct inject_process *p = inject_process(i);
	int err;

	if (!is_ours(p, t))
		return 0;
	err = turn_off(t, p);
	if (err == -ESTALE)
		return inject_refuse(w->reason, err, "",
				     "another tool has written over its hooks, so they stay, "
				     "without samples");
	if (err && !t->on)
		return inject_refuse(w->reason, err, "",
				     "a thread stands in a hook, so %u KiB of code stay mapped",
				     (unsigned int)((ALLOC_CODE_SIZE + PRIVATE_SIZE) >> 10));
	if (err)
		return inject_refuse(w->reason, err, "", "its threads could not be held: %s",
				     strerror(-err));
	return unmap_memory(i, t, w->reason);
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
	/* On a busy machine its thread may not stop, or not answer, in time. */
	for (int tries = 0; tries < DETACH_TRIES && may_try_again(err); tries++) {
		if (tries)
			pause_for(FIRST_PAUSE_NS << (tries - 1));
		err = inject_run(t->pid, 0, end, &w, reason);
	}
	return err == -ESRCH ? 0 : err;
}
