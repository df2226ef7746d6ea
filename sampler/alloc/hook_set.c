/*
 * Hooks are planned by the bytes of a function's file, and those of the process must be the same: a
 * breakpoint, or the hook of another tool, is left alone.
 */
#include "sampler/alloc/hook_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/alloc/hold_threads.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/quiesce.h"
#include "sampler/inject/reason.h"

#define TEXT_MAX (256ull << 20) /* of a module; all of it is read once */
#define BODY_MAX 4096u		/* of a function, searched for jumps to others */

/* Without these, blocks that were freed or moved would count as live, or all would be missed. */
static bool is_needed(enum alloc_entry entry)
{
	return entry == ALLOC_MALLOC || entry == ALLOC_REALLOC || entry == ALLOC_FREE;
}

static int cannot(struct hook_set *set, const struct alloc_function *f, const char *why,
		  struct inject_reason *reason)
{
	if (is_needed(f->entry) && f->is_main)
		return inject_refuse(reason, -ENOTSUP, "", "%s of '%s' cannot be hooked: %s",
				     f->name, f->path, why);
	set->left_out = xgrow(set->left_out, &set->left_out_capacity, set->nr_left_out + 1,
			      sizeof(*set->left_out));
	set->left_out[set->nr_left_out++] = (struct left_out){ f, why };
	return 0;
}

/* The text of the mapping that a function lies in; NULL: too large, or gone. */
static uint8_t *read_text(const struct inject_process *process, const struct alloc_function *f)
{
	uint64_t size = f->text_end - f->text_start;
	uint8_t *text;

	if (size > TEXT_MAX)
		return NULL;
	text = xmalloc(size);
	if (inject_process_read(process, f->text_start, text, size)) {
		free(text);
		return NULL;
	}
	return text;
}

static bool is_alias(const struct hook_set *set, const struct alloc_function *f)
{
	for (size_t i = 0; i < set->nr; i++)
		if (set->hooks[i].function->address == f->address)
			return true;
	return false;
}

/*
 * Does the function end in a jump to another one that is hooked? That one counts then. (A call from
 * inside is found by the stack of its sample.)
 */
static bool ends_in_another(const uint8_t *body, size_t size, const struct alloc_function *f,
			    const struct alloc_function *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (all[i].entry != ALLOC_FREE && all[i].address != f->address &&
		    hook_jumps_to(body, size, f->address, all[i].address))
			return true;
	return false;
}

/*
 * Is what stands there a hook of ours? That is a jump behind the first instruction, to a stub in
 * the code that begins with our payload.
 */
static bool is_our_hook(struct hook_set *set, const struct inject_process *process,
			const struct hook_plan *p, const uint8_t *is)
{
	uint64_t stub, code, magic = 0;
	uint8_t expected[HOOK_MAX_BYTES];
	int32_t distance;

	memcpy(&distance, is + p->kept + 1, sizeof(distance));
	stub = p->function + p->kept + 5 + (uint64_t)(int64_t)distance;
	code = stub & ~(uint64_t)(ALLOC_CODE_SIZE - 1);
	hook_patch_write(p, stub, expected);
	if (memcmp(is, expected, p->length) != 0 ||
	    inject_process_read(process, code, &magic, sizeof(magic)) || magic != ALLOC_MAGIC ||
	    (set->left_code && set->left_code != code))
		return false;
	set->left_code = code;
	return true;
}

/* Plans by the file's bytes, and compares those of the process with them. NULL, or why not. */
static const char *plan_bytes(struct hook_set *set, const struct inject_process *process,
			      const uint8_t *is, struct hook *h)
{
	const struct alloc_function *f = h->function;
	const char *why;

	if (hook_plan_make(f->file, HOOK_MAX_BYTES, f->address, &h->plan, &why))
		return why;
	if (h->plan.length > f->size)
		return "it is too short";
	if (!memcmp(is, f->file, h->plan.length))
		return NULL;
	if (!is_our_hook(set, process, &h->plan, is))
		return "a breakpoint or the hook of another tool is there";
	h->is_left = true;
	memcpy(h->now, is, h->plan.length);
	return NULL;
}

static int plan_one(struct hook_set *set, const struct inject_process *process, const uint8_t *text,
		    const struct alloc_function *f, const struct alloc_function *all, size_t nr,
		    struct inject_reason *reason)
{
	uint64_t left = f->text_end - f->address, offset = f->address - f->text_start;
	size_t body = f->size < BODY_MAX ? (size_t)f->size : BODY_MAX;
	struct hook *h = &set->hooks[set->nr];
	const char *why;
	bool jumps;

	if (is_alias(set, f))
		return 0;
	if (left < HOOK_MAX_BYTES || f->size > left || !f->size)
		return cannot(set, f, "its size is not known", reason);
	jumps = f->entry != ALLOC_FREE && ends_in_another(text + offset, body, f, all, nr);
	if (jumps && f->entry != ALLOC_REALLOC)
		return 0;
	*h = (struct hook){
		.function = f,
		.kind = { .entry = f->entry, .null_is_malloc = jumps, .site = (uint32_t)set->nr },
	};
	why = plan_bytes(set, process, text + offset, h);
	if (!why &&
	    hook_find_entered(text, f->text_end - f->text_start, f->text_start, &h->plan, 1) < 1)
		why = "other code jumps to its second instruction";
	if (why)
		return cannot(set, f, why, reason);
	set->nr++;
	return 0;
}

int hook_set_plan(const struct inject_process *process, const struct alloc_function *functions,
		  size_t nr, struct hook_set *ret, struct inject_reason *reason)
{
	struct hook_set set = { .hooks = xcalloc(nr + 1, sizeof(struct hook)) };
	uint64_t text_start = 0;
	uint8_t *text = NULL;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		const struct alloc_function *f = &functions[i];

		if (!text || f->text_start != text_start) {
			free(text);
			text = read_text(process, f);
			text_start = f->text_start;
		}
		if (!text)
			err = inject_refuse(reason, -EFAULT, "", "the code of '%s' cannot be read",
					    f->path);
		else
			err = plan_one(&set, process, text, f, functions, nr, reason);
	}
	free(text);
	if (err)
		hook_set_fini(&set);
	else
		*ret = set;
	return err;
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

int hook_set_write_stubs(struct hook_set *set, const struct inject_process *process,
			 const struct hook_memory *m)
{
	uint64_t at = m->code + ALLOC_STUBS_AT;

	for (size_t i = 0; i < set->nr; i++) {
		struct hook *h = &set->hooks[i];
		const struct hook_places places = {
			.stub = at,
			.counters = m->private_memory + offsetof(struct alloc_private, counters),
			.filter = m->private_memory + offsetof(struct alloc_private, filter),
			.slow = m->code + m->payload->entries[h->kind.entry],
		};
		uint8_t stub[HOOK_STUB_MAX];
		size_t size = hook_stub_write(&h->plan, &h->kind, &places, stub);
		int64_t distance = (int64_t)(at - h->plan.function);

		if (!size || distance != (int32_t)distance ||
		    at + HOOK_STUB_MAX > m->code + ALLOC_CODE_SIZE)
			return -ERANGE;
		if (inject_process_write(process, at, stub, size))
			return -EFAULT;
		hook_patch_write(&h->plan, at, h->now);
		at += HOOK_STUB_MAX;
	}
	return 0;
}

/* Do the bytes of all hooked functions stand as they were left? */
static int check(const struct hook_set *set, const struct inject_process *process, bool on)
{
	for (size_t i = 0; i < set->nr; i++) {
		const struct hook *h = &set->hooks[i];
		uint8_t is[HOOK_MAX_BYTES];

		if (inject_process_read(process, h->plan.function, is, h->plan.length))
			return -EFAULT;
		/* The first instruction is not ours: another tool may have a breakpoint there. */
		if (memcmp(is + h->plan.kept, (on ? h->now : h->plan.was) + h->plan.kept,
			   h->plan.length - h->plan.kept) != 0)
			return -ESTALE;
	}
	return 0;
}

static int write_all(const struct hook_set *set, const struct inject_process *process, bool on)
{
	for (size_t i = 0; i < set->nr; i++) {
		const struct hook *h = &set->hooks[i];
		const uint8_t *bytes = on ? h->now : h->plan.was;
		uint8_t kept = h->plan.kept;

		if (inject_process_write(process, h->plan.function + kept, bytes + kept,
					 (size_t)(h->plan.length - kept)))
			return -EFAULT;
	}
	return 0;
}

int hook_set_on(const struct hook_set *set, const struct inject_process *process,
		const struct held_threads *held)
{
	struct quiesce_range *ranges = xcalloc(set->nr + 1, sizeof(*ranges));
	bool inside;
	int err;

	/* A thread right behind the first instruction runs the jump, as others do. */
	for (size_t i = 0; i < set->nr; i++) {
		const struct hook_plan *p = &set->hooks[i].plan;

		ranges[i].start = p->function + p->kept + 1u;
		ranges[i].end = p->function + p->length;
	}
	inside = hold_threads_inside(held, ranges, set->nr);
	free(ranges);
	if (inside)
		return -EAGAIN;
	err = check(set, process, false);
	if (err)
		return err;
	err = write_all(set, process, true);
	if (err)
		write_all(set, process, false);
	return err;
}

int hook_set_off(const struct hook_set *set, const struct inject_process *process)
{
	int err = check(set, process, true);

	return err ? err : write_all(set, process, false);
}
