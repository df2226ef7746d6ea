/*
 * Bytes are compared before they are written: what another tool has put there meanwhile stays. The
 * first instruction of a function is not ours at all.
 */
#include "sampler/alloc/hook_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/untrusted/remote_read.h"
#include "sampler/alloc/hold_threads.h"
#include "sampler/alloc/x86_64/stub_frame.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/quiesce.h"

bool hook_is_new(const struct alloc_function *f)
{
	return f->entry == ALLOC_NEW || f->entry == ALLOC_NEW_ALIGNED;
}

bool hook_takes_place_of_new(const struct alloc_function *f, const struct alloc_function *of)
{
	if (f->is_slot || f->text_start != of->text_start)
		return false;
	if (of->entry == ALLOC_NEW)
		return !strcmp(f->name, "malloc");
	return !strcmp(f->name, "aligned_alloc") || !strcmp(f->name, "memalign");
}

void hook_set_of_undone(const struct hook_set *set, const struct inject_process *process, pid_t pid,
			struct hook_set *ret)
{
	*ret = (struct hook_set){ .hooks = xcalloc(set->nr + 1, sizeof(struct hook)) };
	for (size_t i = 0; i < set->nr; i++) {
		const struct hook *h = &set->hooks[i];
		uint8_t kept = h->plan.kept, is[HOOK_MAX_BYTES];
		bool is_read = process ? !inject_process_read(process, h->plan.function, is,
							      h->plan.length)
				       : remote_read(pid, h->plan.function, is, h->plan.length) ==
						 (ssize_t)h->plan.length;

		if (is_read && !memcmp(is + kept, h->plan.was + kept, h->plan.length - kept))
			ret->hooks[ret->nr++] = *h;
	}
}

/* A module that was unmapped and mapped again was hooked twice: the later hook is the one. */
static void forget_replaced(struct hook_set *set, const struct hook_set *more)
{
	size_t nr = 0;

	for (size_t i = 0; i < set->nr; i++) {
		bool is_replaced = false;

		for (size_t k = 0; k < more->nr; k++)
			is_replaced |= set->hooks[i].plan.function == more->hooks[k].plan.function;
		if (!is_replaced)
			set->hooks[nr++] = set->hooks[i];
	}
	set->nr = nr;
}

void hook_set_join(struct hook_set *set, struct hook_set *more)
{
	forget_replaced(set, more);
	set->hooks = xreallocarray(set->hooks, set->nr + more->nr + 1, sizeof(*set->hooks));
	if (more->nr)
		memcpy(set->hooks + set->nr, more->hooks, more->nr * sizeof(*more->hooks));
	set->nr += more->nr;
	for (size_t i = 0; i < more->nr_left_out; i++) {
		set->left_out = xgrow(set->left_out, &set->left_out_capacity, set->nr_left_out + 1,
				      sizeof(*set->left_out));
		set->left_out[set->nr_left_out++] = more->left_out[i];
	}
	hook_set_fini(more);
}

bool hook_set_is_stub(const struct inject_process *process, uint64_t address,
		      uint64_t *ret_function)
{
	uint64_t code = address & ~(uint64_t)(ALLOC_CODE_SIZE - 1), magic = 0;

	return address % HOOK_STUB_MAX == 0 && address - code >= ALLOC_STUBS_AT &&
	       !inject_process_read(process, code, &magic, sizeof(magic)) && magic == ALLOC_MAGIC &&
	       !inject_process_read(process, address + HOOK_STUB_CODE, ret_function,
				    sizeof(*ret_function));
}

void hook_set_of_left(const struct hook_set *set, struct hook_set *ret)
{
	*ret = (struct hook_set){ .hooks = xcalloc(set->nr + 1, sizeof(struct hook)) };
	for (size_t i = 0; i < set->nr; i++)
		if (set->hooks[i].is_left)
			ret->hooks[ret->nr++] = set->hooks[i];
}

void hook_set_fini(struct hook_set *set)
{
	free(set->hooks);
	free(set->left_out);
	*set = (struct hook_set){ 0 };
}

/* The stub of one hook. 0, -ERANGE or -EFAULT. */
static int write_stub(struct hook *h, const struct inject_process *process,
		      const struct hook_memory *m, uint64_t at)
{
	const struct hook_places places = {
		.stub = at,
		.counters = m->private_memory + offsetof(struct alloc_private, counters),
		.filter = m->private_memory + offsetof(struct alloc_private, filter),
		.slow = m->code + m->payload->entries[h->kind.entry],
	};
	const struct stub_frame_places frame_places = {
		.frame = hook_frame_at(m->code, m->payload, h->kind.site),
		.cie = m->code + m->payload->head.eh_frame,
		.stub = at,
	};
	int64_t distance = (int64_t)(at - h->plan.function);
	uint8_t frame[ALLOC_FRAME_SIZE];
	struct hook_stub stub;

	if (h->kind.site >= ALLOC_NR_STUBS || !hook_stub_make(&h->plan, &h->kind, &places, &stub) ||
	    (!h->plan.is_slot && distance != (int32_t)distance))
		return -ERANGE;
	h->original = at + stub.original;
	h->moved = (uint16_t)stub.moved;
	h->moved_end = (uint16_t)stub.moved_end;
	stub_frame_write(&h->plan, &stub, &frame_places, frame);
	if (inject_process_write(process, at, stub.bytes, stub.size) ||
	    inject_process_write(process, frame_places.frame, frame, sizeof(frame)))
		return -EFAULT;
	hook_patch_write(&h->plan, at, h->now);
	return 0;
}

/* What allocates in the place of an operator new: the way past its hook, if it has one. */
static uint64_t allocates_for_new(const struct hook_set *set, const struct alloc_function *f)
{
	for (size_t i = 0; i < set->nr; i++)
		if (hook_takes_place_of_new(set->hooks[i].function, f))
			return set->hooks[i].original;
	return 0;
}

/* Those of operator new come last, because they need the others' ways. */
int hook_set_write_stubs(struct hook_set *set, const struct inject_process *process,
			 const struct hook_memory *m)
{
	int err = 0;

	for (int news = 0; news < 2; news++) {
		for (size_t i = 0; i < set->nr && !err; i++) {
			struct hook *h = &set->hooks[i];

			if (hook_is_new(h->function) != news)
				continue;
			h->kind.site = (uint32_t)(m->nr_stubs + i);
			if (news)
				h->kind.more = allocates_for_new(set, h->function);
			err = news && !h->kind.more
				      ? -ENOTSUP
				      : write_stub(h, process, m,
						   hook_stub_at(m->code, h->kind.site));
		}
	}
	return err;
}

/* Does it stand as it was left? 0, -ESTALE: other bytes are there; -EFAULT: nothing is. */
static int check_one(const struct hook *h, const struct inject_process *process, bool on)
{
	uint8_t is[HOOK_MAX_BYTES];

	if (inject_process_read(process, h->plan.function, is, h->plan.length))
		return -EFAULT;
	/* The first instruction is not ours: another tool may have a breakpoint there. */
	return memcmp(is + h->plan.kept, (on ? h->now : h->plan.was) + h->plan.kept,
		      h->plan.length - h->plan.kept) != 0
		       ? -ESTALE
		       : 0;
}

static int write_one(const struct hook *h, const struct inject_process *process, bool on)
{
	const uint8_t *bytes = on ? h->now : h->plan.was;
	uint8_t kept = h->plan.kept;

	return inject_process_write(process, h->plan.function + kept, bytes + kept,
				    (size_t)(h->plan.length - kept))
		       ? -EFAULT
		       : 0;
}

int hook_set_on(const struct hook_set *set, const struct inject_process *process,
		const struct held_threads *held)
{
	struct quiesce_range *ranges = xcalloc(set->nr + 1, sizeof(*ranges));
	size_t nr = 0;
	bool inside;
	int err = 0;

	/* A thread right behind the first instruction runs the jump, as others do. */
	for (size_t i = 0; i < set->nr; i++) {
		const struct hook_plan *p = &set->hooks[i].plan;

		if (p->is_slot)
			continue;
		ranges[nr].start = p->function + p->kept + 1u;
		ranges[nr++].end = p->function + p->length;
	}
	inside = hold_threads_inside(held, ranges, nr);
	free(ranges);
	if (inside)
		return -EAGAIN;
	for (size_t i = 0; i < set->nr && !err; i++)
		err = check_one(&set->hooks[i], process, false);
	if (err)
		return err;
	for (size_t i = 0; i < set->nr && !err; i++)
		err = write_one(&set->hooks[i], process, true);
	for (size_t i = 0; i < set->nr && err; i++)
		write_one(&set->hooks[i], process, false);
	return err;
}

int hook_set_off(const struct hook_set *set, const struct inject_process *process)
{
	int result = 0;

	for (size_t i = 0; i < set->nr; i++) {
		const struct hook *h = &set->hooks[i];
		int err = check_one(h, process, true);

		/* A second call, after a thread stood in a hook, finds those off that could be. */
		if (err == -ESTALE && !check_one(h, process, false))
			err = 0;
		else if (!err)
			err = write_one(h, process, false);
		else if (err == -EFAULT) /* dlclose(3) has unmapped it */
			err = 0;
		result = err ? err : result;
	}
	return result;
}
