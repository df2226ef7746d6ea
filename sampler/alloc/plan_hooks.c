/*
 * Hooks are planned by the bytes of a function's file, and those of the process must be the same: a
 * breakpoint, or the hook of another tool, is left alone.
 */
#include "sampler/alloc/hook_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/reason.h"

#define TEXT_MAX (256ull << 20) /* of a module; all of it is read once */
#define BODY_MAX 4096u		/* of a function, searched for jumps to others */

/* What hooks are planned in. */
struct world {
	const struct inject_process *process;
	const struct alloc_function *const *functions;
	size_t nr;
	const uint8_t *text; /* of the mapping that the present function lies in */
};

/* Without these, blocks that were freed or moved would count as live, or all would be missed. */
static bool is_needed(const char *name)
{
	return !strcmp(name, "malloc") || !strcmp(name, "realloc") || !strcmp(name, "free");
}

static int cannot(struct hook_set *set, const struct alloc_function *f, const char *why,
		  struct inject_reason *reason)
{
	if (is_needed(f->name) && f->is_main)
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

static bool is_counted_at(const struct world *world, uint64_t address,
			  const struct alloc_function *but)
{
	for (size_t i = 0; i < world->nr; i++) {
		const struct alloc_function *to = world->functions[i];

		if (to->entry < NR_ALLOC_ENTRIES && to->entry != ALLOC_FREE &&
		    !alloc_entry_is_tensor(to->entry) && to->address == address &&
		    address != but->address)
			return true;
	}
	return false;
}

/* Where a jump leads in the end: the module may call its own functions by its linkage table. */
static uint64_t through_plt(const struct world *world, const struct alloc_function *f, uint64_t to)
{
	uint64_t offset = to - f->text_start, size = f->text_end - f->text_start, slot;

	if (offset >= size)
		return to;
	slot = hook_plt_slot(world->text + offset, (size_t)(size - offset), to);
	if (!slot || inject_process_read(world->process, slot, &to, sizeof(to)))
		return f->text_start + offset;
	return to;
}

/*
 * Does the function end in a jump to another one that is hooked? That one counts then. (A call from
 * inside is found by the stack of its sample.) With `calls`: does it jump to one or call one?
 */
static bool leads_to_another(const struct world *world, const struct alloc_function *f, bool calls)
{
	const uint8_t *body = world->text + (f->address - f->text_start);
	size_t at = 0, size = f->size < BODY_MAX ? (size_t)f->size : BODY_MAX;
	uint64_t to;

	while ((to = hook_next_jump(body, size, f->address, calls, &at)))
		if (is_counted_at(world, through_plt(world, f, to), f))
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

	memcpy(&distance, is + hook_jump_at(p) + 1, sizeof(distance));
	stub = p->function + hook_jump_at(p) + 5u + (uint64_t)(int64_t)distance;
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
	why = hook_plan_refuses(&h->plan, h->kind.entry);
	if (why)
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

/*
 * Does operator delete of the file take blocks of its malloc? Of most files that is not known: a
 * program's own operator new may put a header before each block, and tcmalloc's debugging library
 * ends a program that mixes the two.
 */
static bool deletes_blocks_of_malloc(const char *path)
{
	static const char *const libraries[] = { "libjemalloc", "libtcmalloc", "libmimalloc" };
	const char *name = path_base_name(path);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return !strstr(name, "debug");
	return false;
}

/* Does the file have a function that may allocate in the place of an operator new? */
static bool has_one_for_new(const struct world *world, const struct hook *h)
{
	const struct alloc_function *of = h->function;

	for (size_t i = 0; i < world->nr; i++)
		if (hook_takes_place_of_new(world->functions[i], of))
			return h->is_left || deletes_blocks_of_malloc(of->path);
	return false;
}

static int plan_slot(struct hook_set *set, const struct world *world,
		     const struct alloc_function *f, struct inject_reason *reason)
{
	struct hook *h = &set->hooks[set->nr];
	uint64_t is, function;

	if (inject_process_read(world->process, f->address, &is, sizeof(is)))
		return cannot(set, f, "it is gone", reason);
	*h = (struct hook){ .function = f, .kind = { .entry = f->entry, .limit = f->limit } };
	h->kind.more = f->limit ? f->limit : UINT64_MAX & ~ALLOC_PYTHON_BY_MALLOC;
	h->kind.more |= f->by_malloc ? ALLOC_PYTHON_BY_MALLOC : 0;
	h->is_left = hook_set_is_stub(world->process, is, &function);
	if (h->is_left)
		set->left_code = is & ~(uint64_t)(ALLOC_CODE_SIZE - 1);
	hook_plan_slot(f->address, h->is_left ? function : is, &h->plan);
	memcpy(h->now, &is, sizeof(is));
	set->nr++;
	return 0;
}

static int plan_one(struct hook_set *set, const struct world *world, const struct alloc_function *f,
		    struct inject_reason *reason)
{
	uint64_t left = f->text_end - f->address, offset = f->address - f->text_start;
	struct hook *h = &set->hooks[set->nr];
	const char *why;
	bool jumps;

	if (is_alias(set, f))
		return 0;
	if (left < HOOK_MAX_BYTES || f->size > left || !f->size)
		return cannot(set, f, "its size is not known", reason);
	jumps = f->entry != ALLOC_FREE && !alloc_entry_is_tensor(f->entry) &&
		leads_to_another(world, f, false);
	if (jumps && f->entry != ALLOC_REALLOC)
		return 0;
	*h = (struct hook){
		.function = f,
		.kind = { .entry = f->entry, .null_is_malloc = jumps },
	};
	why = plan_bytes(set, world->process, world->text + offset, h);
	if (!why && hook_find_entered(world->text, f->text_end - f->text_start, f->text_start,
				      &h->plan, 1) < 1)
		why = "other code jumps to its second instruction";
	if (hook_is_new(f) && !has_one_for_new(world, h)) {
		if (leads_to_another(world, f, true))
			return 0; /* malloc counts what it asks for */
		why = "no other function allocates such blocks";
	}
	if (why)
		return cannot(set, f, why, reason);
	set->nr++;
	return 0;
}

static bool is_operator(const struct alloc_function *f)
{
	return !strncmp(f->name, "_Z", 2);
}

/*
 * If an operator delete of a module cannot be hooked, its operators new are not hooked either: what
 * they allocate would seem to live on.
 */
static void drop_new(struct hook_set *set, const struct alloc_function *missing)
{
	size_t nr = 0;

	if (missing->entry != ALLOC_FREE || !is_operator(missing))
		return;
	for (size_t i = 0; i < set->nr; i++) {
		const struct alloc_function *f = set->hooks[i].function;

		if (f->entry != ALLOC_FREE && is_operator(f) &&
		    f->text_start == missing->text_start && !set->hooks[i].is_left)
			cannot(set, f, "its operator delete cannot be hooked", NULL);
		else
			set->hooks[nr++] = set->hooks[i];
	}
	set->nr = nr;
}

static int plan_all(struct hook_set *set, struct world *world, size_t from,
		    struct inject_reason *reason)
{
	uint64_t text_start = 0;
	uint8_t *text = NULL;
	int err = 0;

	for (size_t i = from; i < world->nr && !err; i++) {
		const struct alloc_function *f = world->functions[i];

		if (f->entry >= NR_ALLOC_ENTRIES)
			continue;
		if (f->is_slot) {
			err = plan_slot(set, world, f, reason);
			continue;
		}
		if (!text || f->text_start != text_start) {
			free(text);
			text = read_text(world->process, f);
			text_start = f->text_start;
		}
		world->text = text;
		if (!text)
			err = inject_refuse(reason, -EFAULT, "", "the code of '%s' cannot be read",
					    f->path);
		else
			err = plan_one(set, world, f, reason);
	}
	free(text);
	return err;
}

int hook_set_plan(const struct inject_process *process,
		  const struct alloc_function *const *functions, size_t nr, size_t from,
		  struct hook_set *ret, struct inject_reason *reason)
{
	struct hook_set set = { .hooks = xcalloc(nr - from + 1, sizeof(struct hook)) };
	struct world world = { process, functions, nr, NULL };
	int err = plan_all(&set, &world, from, reason);
	size_t nr_left_out = set.nr_left_out;

	for (size_t i = 0; i < nr_left_out && !err; i++)
		drop_new(&set, set.left_out[i].function);
	if (err)
		hook_set_fini(&set);
	else
		*ret = set;
	return err;
}
