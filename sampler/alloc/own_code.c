/*
 * Our code stays known after it was unmapped, because the samples in it get their names at the end.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/walk/walk_publisher.h"

/* What a stub has moved: a part of the code, and where it was. */
struct moved_code {
	uint32_t at, end; /* counted from the start of the code */
	uint32_t length;  /* in the function; a jump may have grown */
	uint32_t module;
	uint64_t address;
};

struct own_code {
	pid_t pid;
	uint64_t start;
	struct moved_code *moved;
	size_t nr, capacity;
};

void own_codes_fini(struct own_codes *codes)
{
	for (size_t i = 0; i < codes->nr; i++)
		free(codes->codes[i].moved);
	free(codes->codes);
}

void own_codes_add(struct own_codes *codes, pid_t pid, uint64_t start)
{
	codes->codes = xgrow(codes->codes, &codes->capacity, codes->nr + 1, sizeof(*codes->codes));
	codes->codes[codes->nr++] = (struct own_code){ .pid = pid, .start = start };
}

/* A later one may lie where one was. */
static struct own_code *find(const struct own_codes *codes, pid_t pid, uint64_t address)
{
	for (size_t i = codes->nr; i-- > 0;) {
		struct own_code *c = &codes->codes[i];

		if (c->pid == pid && address - c->start < ALLOC_CODE_SIZE)
			return c;
	}
	return NULL;
}

static void note(struct own_code *c, struct alloc_target *t, const struct hook *h,
		 struct sink *sink)
{
	uint8_t first = hook_jump_at(&h->plan);
	struct moved_code moved = {
		.at = (uint32_t)(hook_stub_at(0, h->kind.site) + h->moved),
		.end = (uint32_t)(hook_stub_at(0, h->kind.site) + h->moved_end),
		.length = (uint32_t)(h->plan.length - first),
	};
	const char *path;

	if (moved.at == moved.end)
		return;
	moved.module =
		walk_target_module(t->walk, sink, h->plan.function + first, &path, &moved.address);
	if (moved.module == PROFILE_NONE)
		return;
	c->moved = xgrow(c->moved, &c->capacity, c->nr + 1, sizeof(*c->moved));
	c->moved[c->nr++] = moved;
}

void own_codes_note(struct own_codes *codes, struct alloc_target *t, struct sink *sink)
{
	struct own_code *c = t->nr_noted < t->nr_stubs ? find(codes, t->pid, t->code) : NULL;

	for (size_t i = 0; c && i < t->hooks.nr; i++)
		if (t->hooks.hooks[i].kind.site >= t->nr_noted)
			note(c, t, &t->hooks.hooks[i], sink);
	t->nr_noted = t->nr_stubs;
}

bool own_codes_find(const struct own_codes *codes, pid_t pid, uint64_t address,
		    uint32_t *ret_module, uint64_t *ret_address)
{
	const struct own_code *c = find(codes, pid, address);
	uint64_t at = c ? address - c->start : 0;

	*ret_module = PROFILE_NONE;
	for (size_t i = 0; c && i < c->nr; i++) {
		const struct moved_code *m = &c->moved[i];
		uint64_t offset = at - m->at;

		if (at < m->at || at >= m->end)
			continue;
		*ret_module = m->module;
		*ret_address = m->address + (offset < m->length ? offset : m->length - 1);
	}
	return c != NULL;
}
