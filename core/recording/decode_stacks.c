/*
 * Reading a folder mostly waits for memory: frames and stacks are looked up in tables that no cache
 * holds. So a batch is read at a time, and memory for all of it is fetched before the first
 * comparison.
 */
#include "core/recording/decode_stacks.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cursor.h"
#include "core/profile/profile.h"
#include "core/recording/decode.h"

#define MAX_DECODED_FRAMES (1u << 29)

static bool add_all(struct id_map *map, const uint32_t *ids, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!id_map_add(map, ids[i]))
			return false;
	return true;
}

/* The address of a named frame is a string number. */
static bool named_frame(struct decoder *d, uint32_t module, uint64_t number, uint32_t *ret_id)
{
	uint32_t name;

	if (number >= d->strings.nr)
		return false;
	name = d->strings.ids[number];
	if (name == PROFILE_NONE) {
		*ret_id = PROFILE_NONE;
		return true;
	}
	*ret_id = profile_frame_of_name(d->p, name,
					(enum function_kind)d->p->modules[module].function_kind);
	return true;
}

/* Frames that have been read and have no id yet. */
struct frame_batch {
	struct profile_frame keys[PROFILE_BATCH];
	size_t nr;
};

static bool flush_frames(struct decoder *d, struct frame_batch *b)
{
	uint32_t ids[PROFILE_BATCH];
	size_t nr = b->nr;

	b->nr = 0;
	profile_frame_batch(d->p, b->keys, nr, ids);
	return add_all(&d->frames, ids, nr);
}

/* Decodes a frame that comes with its location, or one of a lost module, which stays lost. */
static bool decode_special_frame(struct decoder *d, uint32_t module, uint64_t address)
{
	uint32_t id = PROFILE_NONE;

	if (module != PROFILE_NONE && d->p->modules[module].kind == MODULE_PYTHON)
		id = profile_python_frame(d->p, module, address);
	else if (module != PROFILE_NONE && !named_frame(d, module, address, &id))
		return false;
	return id_map_add(&d->frames, id);
}

static bool decode_frame(struct decoder *d, struct cursor *c, uint64_t *address,
			 struct frame_batch *b)
{
	uint32_t module;

	if (!id_map_get(c, &d->modules, &module) || !cursor_get_delta(c, address))
		return false;
	if (module == PROFILE_NONE || d->p->modules[module].kind == MODULE_NAMED ||
	    d->p->modules[module].kind == MODULE_PYTHON)
		return flush_frames(d, b) && decode_special_frame(d, module, *address);
	b->keys[b->nr++] = (struct profile_frame){ .module = module, .address = *address };
	return b->nr < PROFILE_BATCH || flush_frames(d, b);
}

bool frames_decode(struct decoder *d, struct cursor *c)
{
	struct frame_batch b = { .nr = 0 };
	uint64_t address = 0;
	bool good = true;

	while (good && c->at < c->end)
		good = decode_frame(d, c, &address, &b);
	return flush_frames(d, &b) && good;
}

/*
 * Stacks that have been read and have no id yet. d->stack holds the last stack before the batch,
 * because the first one may share its frames, and then the stacks of the batch.
 */
struct stack_batch {
	size_t ends[PROFILE_BATCH]; /* from the beginning of the batch */
	size_t nr;
	size_t nr_before;     /* frames before the batch */
	size_t last, nr_last; /* where the last stack begins, and how many frames it has */
};

static bool flush_stacks(struct decoder *d, struct stack_batch *b)
{
	uint32_t ids[PROFILE_BATCH];
	size_t nr = b->nr;

	if (!nr)
		return true;
	profile_stack_batch(d->p, d->stack + b->nr_before, b->ends, nr, ids);
	memmove(d->stack, d->stack + b->last, b->nr_last * sizeof(*d->stack));
	b->last = 0;
	b->nr_before = b->nr_last;
	b->nr = 0;
	return add_all(&d->stacks, ids, nr);
}

static bool decode_stack(struct decoder *d, struct cursor *c, struct stack_batch *b)
{
	size_t at = b->last + b->nr_last, nr;
	uint64_t shared, more;
	uint32_t *stack;

	if (!cursor_get_below(c, b->nr_last + 1, &shared) ||
	    !cursor_get_below(c, RECORD_MAX_DEPTH - shared + 1, &more) || more > cursor_left(c))
		return false;
	nr = shared + more;
	d->nr_decoded_frames += nr;
	if (d->nr_decoded_frames > MAX_DECODED_FRAMES)
		return false;
	d->stack = xgrow(d->stack, &d->stack_capacity, at + nr + 1, sizeof(*d->stack));
	stack = d->stack + at;
	memcpy(stack, d->stack + b->last, shared * sizeof(*stack));
	for (size_t i = shared; i < nr; i++) {
		if (!id_map_get(c, &d->frames, &stack[i]))
			return false;
		if (stack[i] == PROFILE_NONE)
			stack[i] = profile_marker_frame(d->p, MARKER_UNKNOWN);
	}
	b->last = at;
	b->nr_last = nr;
	b->ends[b->nr++] = at + nr - b->nr_before;
	return b->nr < PROFILE_BATCH || flush_stacks(d, b);
}

bool stacks_decode(struct decoder *d, struct cursor *c)
{
	struct stack_batch b = { .nr = 0 };
	bool good = true;

	while (good && c->at < c->end)
		good = decode_stack(d, c, &b);
	return flush_stacks(d, &b) && good;
}
