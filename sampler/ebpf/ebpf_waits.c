/*
 * The kernel names an address at the cost of two system calls, so what an address tells is kept:
 * the kernel code that threads wait in is a few hundred addresses.
 */
#include "sampler/ebpf/ebpf_waits.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "core/untrusted/user_shares.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/sink/stack_ids.h"
#include "sampler/sink/thread_pieces.h"
#include "sampler/target/process.h"
#include "sampler/waiting/lock_waits.h"
#include "sampler/waiting/wait_object.h"
#include "sampler/waiting/wait_reason.h"
#include "sampler/waiting/wait_stacks.h"

#define MAX_ADDRESSES 65536
/* Threads with a row of their own, for all users. Further ones are added up in one row. */
#define MAX_THREAD_ROWS 65536
/* That are cut at the ends of segments; the times of further ones are told as they end. */
#define MAX_THREADS 131072
#define TELL_NS (2000ull * 1000 * 1000) /* sums are written this often, and at the end */

struct known_address {
	uint64_t address;
	struct wait_hint hint;
	UT_hash_handle hh;
};

struct ebpf_waits {
	const struct kernel_side *kernel;
	const struct sandbox *sandbox;
	struct wait_stacks *stacks;
	struct stack_ids *ready; /* the same stacks in the column runnable */
	struct lock_waits *locks;
	uint64_t told_ns;
	bool has_wakers;
	struct known_address *addresses;
	struct user_shares rows;
	struct thread_pieces *pieces;
	struct fact_thread_time others;
};

struct ebpf_waits *ebpf_waits_new(const struct kernel_side *kernel, const struct sandbox *sandbox)
{
	struct ebpf_waits *w = xcalloc(1, sizeof(*w));

	w->kernel = kernel;
	w->sandbox = sandbox;
	w->stacks = wait_stacks_new();
	w->ready = stack_ids_new();
	w->locks = lock_waits_new(w->sandbox);
	w->has_wakers = kernel->wakers;
	w->others.thread = PROFILE_NONE;
	w->pieces = thread_pieces_new(MAX_THREADS);
	user_shares_init(&w->rows, MAX_THREAD_ROWS);
	return w;
}

static void forget_addresses(struct ebpf_waits *w)
{
	struct known_address *a, *next;

	HASH_ITER (hh, w->addresses, a, next) {
		HASH_DEL(w->addresses, a);
		free(a);
	}
}

void ebpf_waits_free(struct ebpf_waits *w)
{
	if (!w)
		return;
	forget_addresses(w);
	wait_stacks_free(w->stacks);
	stack_ids_free(w->ready);
	lock_waits_free(w->locks);
	user_shares_fini(&w->rows);
	thread_pieces_free(w->pieces);
	free(w);
}

static struct wait_hint hint_of(struct ebpf_waits *w, uint64_t address)
{
	struct known_address *a;
	char name[256];

	HASH_FIND(hh, w->addresses, &address, sizeof(address), a);
	if (a)
		return a->hint;
	if (HASH_COUNT(w->addresses) >= MAX_ADDRESSES)
		forget_addresses(w);
	a = xcalloc(1, sizeof(*a));
	a->address = address;
	if (!kernel_side_symbol(w->kernel, address - 1, name, sizeof(name)))
		a->hint = wait_hint_of(name);
	HASH_ADD(hh, w->addresses, address, sizeof(a->address), a);
	return a->hint;
}

static void hints_of(struct ebpf_waits *w, const struct walked *walked, struct wait_hint *hints)
{
	for (size_t i = 0; i < walked->nr_kernel; i++)
		hints[i] = hint_of(w, walked->kernel[i]);
}

static void cut_leaf(struct walked *walked, size_t nr)
{
	walked->kernel += nr;
	walked->nr_kernel -= nr;
}

/* Cuts the frames of the switch off the stack of a wait, and sets what was waited for. */
static enum wait_reason explain(struct ebpf_waits *w, uint32_t state, struct walked *walked)
{
	struct wait_hint hints[MAX_KERNEL_FRAMES];
	size_t nr = walked->nr_kernel;
	enum wait_reason reason;

	hints_of(w, walked, hints);
	reason = wait_reason_of(hints, nr, state);
	walked->wait = wait_reason_name(reason);
	cut_leaf(walked, wait_frames_of_switch(hints, nr));
	if (!walked->nr_kernel) /* preempted in user code: all frames were of the switch */
		walked->in_kernel = false;
	return reason;
}

/* An interrupt has woken the thread: then what it interrupted has nothing to do with it. */
static bool cut_interrupt(struct ebpf_waits *w, struct walked *walked)
{
	struct wait_hint hints[MAX_KERNEL_FRAMES];
	size_t nr;

	hints_of(w, walked, hints);
	nr = wait_frames_of_interrupt(hints, walked->nr_kernel);
	if (nr) {
		walked->nr_kernel = nr;
		walked->nr_user = walked->nr_joined = walked->gap = 0;
		walked->marker = -1;
	}
	cut_leaf(walked, wait_frames_of_waking(hints, walked->nr_kernel));
	return nr;
}

static void make_runnable(uint32_t state, struct walked *walked)
{
	if (state != WAIT_PREEMPTED && state != WAIT_NEW && state != WAIT_THROTTLED)
		walked->wait = wait_reason_name(REASON_CPU);
}

bool ebpf_waits_keep(struct ebpf_waits *w, struct sample_sink *out, const struct process *p,
		     uint64_t key, uint32_t state, struct walked *walked)
{
	uint32_t frames[SINK_MAX_FRAMES];
	struct wait_stack s = { .frames = frames };
	struct known_stack ready;

	if (state == WAKER_STACK)
		s.interrupt = cut_interrupt(w, walked);
	else
		s.reason = (uint8_t)explain(w, state, walked);
	s.nr = (uint32_t)sample_sink_frames(out, p, walked, frames, &s.incomplete);
	if (!wait_stacks_add(w->stacks, key, &s))
		return false;
	if (state == WAKER_STACK)
		return true;
	make_runnable(state, walked);
	ready = sample_sink_stack(out, p, walked);
	return stack_ids_add(w->ready, key, ready);
}

/*
 * Who ended the wait of a sample. `name` has the bytes of a thread's name and a NUL. What the waker
 * had waited for counts only if the waiter waited for it, too: if that wait was ended after this
 * one began.
 */
static void add_waker(struct ebpf_waits *w, const struct sample_event *s,
		      const struct wait_facts *f, char *name, struct wait_top *top)
{
	bool is_thread;

	top->waker_key = f->waker_key;
	top->stack = f->waker_key ? wait_stacks_find(w->stacks, f->waker_key) : NULL;
	is_thread = f->waker_tid && !(top->stack && top->stack->interrupt);
	memcpy(name, f->waker_comm, COMM_SIZE);
	name[COMM_SIZE] = '\0';
	top->waker = is_thread ? name : "an interrupt";
	if (is_thread && top->stack)
		top->before = wait_stacks_last(w->stacks, f->waker_tid,
					       s->header.time_ns - f->off_ns, f->woken_ns);
}

/*
 * The sink's stack of a sampled wait with all that is known of it on top. `key` as in
 * wait_stacks_join().
 */
static struct known_stack join(struct ebpf_waits *w, struct sample_sink *out,
			       const struct sample_event *s, uint64_t key,
			       const struct wait_facts *f, const struct wait_stack *stack)
{
	const char *symbol = f->lock && stack->reason == REASON_LOCK
				     ? lock_waits_symbol(w->locks, s->header.tgid, f->lock)
				     : "";
	char text[WAIT_OBJECT_SIZE], name[COMM_SIZE + 1];
	struct wait_top top = { 0 };
	struct known_stack known;
	struct wait_link link;

	if (wait_object_text(f, stack->reason, symbol, text, sizeof(text)))
		top.object = text;
	if (w->has_wakers && (f->waker_tid || f->waker_key))
		add_waker(w, s, f, name, &top);
	known = wait_stacks_join(w->stacks, out, key, stack, &top, &link);
	if (w->has_wakers)
		wait_stacks_ended(w->stacks, s->tid, f->woken_ns, &link, top.before);
	return known;
}

bool ebpf_waits_find(struct ebpf_waits *w, struct sample_sink *out, const struct sample_event *s,
		     const struct wait_facts *facts, struct known_stack *ret_waiting,
		     struct known_stack *ret_ready)
{
	const struct wait_stack *stack = wait_stacks_find(w->stacks, s->key);

	if (!stack || !stack_ids_find(w->ready, s->key, ret_ready))
		return false;
	*ret_waiting = join(w, out, s, s->key, facts, stack);
	return true;
}

void ebpf_waits_once(struct ebpf_waits *w, struct sample_sink *out, const struct process *p,
		     const struct snapshot_event *e, struct walked *walked,
		     struct known_stack *ret_waiting, struct known_stack *ret_ready)
{
	uint32_t frames[SINK_MAX_FRAMES];
	struct wait_stack stack = { .frames = frames };

	stack.reason = (uint8_t)explain(w, e->wait, walked);
	stack.nr = (uint32_t)sample_sink_frames(out, p, walked, frames, &stack.incomplete);
	*ret_waiting = join(w, out, &e->sample, 0, &e->facts, &stack);
	make_runnable(e->wait, walked);
	*ret_ready = sample_sink_stack(out, p, walked);
}

/* The thread that released the lock; an interrupt, as of a time limit, released nothing. */
static uint32_t releaser_of(const struct ebpf_waits *w, struct sample_sink *out,
			    const struct wait_facts *f)
{
	const struct wait_stack *s =
		f->waker_key ? wait_stacks_find(w->stacks, f->waker_key) : NULL;

	if (!w->has_wakers || !f->waker_tid || !s || s->interrupt)
		return PROFILE_NONE;
	return sample_sink_thread(out, f->waker_tgid, f->waker_tid, f->waker_comm);
}

void ebpf_waits_lock(struct ebpf_waits *w, struct sample_sink *out, uint32_t user,
		     const struct sample_event *s, const struct wait_facts *f, uint64_t waiting_ns)
{
	uint32_t thread = sample_sink_thread(out, s->header.tgid, s->tid, s->comm);
	const struct profile_sample sample = {
		.time_ns = s->header.time_ns,
		.thread = thread,
		.column = COLUMN_WAITING,
	};

	if (!out->sink->wants || out->sink->wants(out->sink, &sample))
		lock_waits_add(w->locks, out, user, s->header.tgid, thread, f,
			       releaser_of(w, out, f), s->weight_ns, waiting_ns);
}

void ebpf_waits_tell(struct ebpf_waits *w, struct sample_sink *out, bool at_end)
{
	uint64_t now = monotonic_ns();

	if (!at_end && now - w->told_ns < TELL_NS)
		return;
	w->told_ns = now;
	lock_waits_tell(w->locks, out);
}

void ebpf_waits_turn(struct ebpf_waits *w, bool forget)
{
	lock_waits_free(w->locks);
	w->locks = lock_waits_new(w->sandbox);
	user_shares_fini(&w->rows);
	user_shares_init(&w->rows, MAX_THREAD_ROWS);
	w->others = (struct fact_thread_time){ .thread = PROFILE_NONE };
	thread_pieces_turn(w->pieces);
	wait_stacks_turn(w->stacks, forget);
	if (forget)
		stack_ids_clear(w->ready);
}

void ebpf_waits_thread(struct ebpf_waits *w, struct sample_sink *out, uint32_t user,
		       const struct thread_event *e)
{
	struct fact_thread_time row = {
		.pid = e->header.tgid,
		.start_ns = e->start_ns,
		.threads = 1,
		.wall_ns = e->wall_ns,
		.cpu_ns = e->cpu_ns,
		.runnable_ns = e->runnable_ns,
		.waiting_ns = e->waiting_ns,
		.waits = e->nr_waits,
	};
	struct fact_thread_time *o = &w->others;

	if (!thread_pieces_cut(w->pieces, e->tid, e->goes_on, &row))
		return;
	if (user_shares_take(&w->rows, user, 1) == SHARE_TAKEN) {
		row.thread = sample_sink_thread(out, e->header.tgid, e->tid, e->comm);
		out->sink->fact(out->sink, FACT_THREAD_TIME, &row);
		return;
	}
	o->threads++;
	o->wall_ns += row.wall_ns;
	o->cpu_ns += row.cpu_ns;
	o->runnable_ns += row.runnable_ns;
	o->waiting_ns += row.waiting_ns;
	o->waits += row.waits;
	out->sink->fact(out->sink, FACT_THREAD_TIME, o);
}
