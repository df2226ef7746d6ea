/*
 * Interning of everything a profile holds. Each table is a plain array in struct profile, open to
 * all readers, with an intern table here that finds the id of equal content. Strings lie in an
 * arena of large blocks; no entry has an allocation of its own.
 */
#include "core/profile/profile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/profile/facts.h"
#include "core/profile/intern.h"
#include "core/profile/markers.h"

#define ARENA_BLOCK_SIZE (64 * 1024)

struct arena_block {
	struct arena_block *next;
	char data[];
};

struct profile_index {
	uint64_t seed; /* random, so that names in a hostile file cannot be made to collide */
	struct intern strings, modules, threads, frames, stacks, functions;
	size_t strings_capacity, modules_capacity, threads_capacity, frames_capacity;
	size_t stacks_capacity, stack_frames_capacity, samples_capacity, functions_capacity;
	size_t locations_capacity;
	struct arena_block *blocks; /* the first one is being filled */
	char *arena_at;
	size_t arena_left;
};

struct string_key {
	const char *s;
	size_t length;
};

struct stack_key {
	const uint32_t *frames;
	size_t nr;
};

/* Makes room for one more element in the array p->name, whose capacity the index keeps. */
#define GROW(p, name, more)                                                                        \
	do {                                                                                       \
		if ((p)->index->name##_capacity - (p)->nr_##name < (more))                         \
			(p)->name = xgrow((p)->name, &(p)->index->name##_capacity,                 \
					  (p)->nr_##name + (more), sizeof(*(p)->name));            \
	} while (0)

struct profile *profile_new(void)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->index = xcalloc(1, sizeof(*p->index));
	if (getrandom(&p->index->seed, sizeof(p->index->seed), GRND_NONBLOCK) < 0)
		p->index->seed = (uintptr_t)p;
	p->stack_frames_max = PROFILE_NONE;
	p->stack_left_out = PROFILE_NONE;
	p->first_host = PROFILE_NONE;
	profile_cstring(p, ""); /* id 0 */
	return p;
}

void profile_free(struct profile *p)
{
	struct profile_index *x;

	if (!p)
		return;
	x = p->index;
	while (x->blocks) {
		struct arena_block *next = x->blocks->next;

		free(x->blocks);
		x->blocks = next;
	}
	intern_fini(&x->strings);
	intern_fini(&x->modules);
	intern_fini(&x->threads);
	intern_fini(&x->frames);
	intern_fini(&x->stacks);
	intern_fini(&x->functions);
	free(x);
	facts_free(p->facts);
	free(p->event_columns);
	free(p->strings);
	free(p->modules);
	free(p->threads);
	free(p->frames);
	free(p->stacks);
	free(p->stack_frames);
	free(p->samples);
	free(p->functions);
	free(p->locations);
	free(p);
}

static uint32_t hash_of(const struct profile *p, const void *data, size_t size)
{
	return (uint32_t)XXH3_64bits_withSeed(data, size, p->index->seed);
}

/* Gives a long string a block of its own, instead of wasting the rest of the common one. */
static char *arena_block(struct profile_index *x, size_t size)
{
	struct arena_block *block = xmalloc(sizeof(*block) + size);

	block->next = x->blocks;
	x->blocks = block;
	return block->data;
}

static char *arena_string(struct profile_index *x, const char *s, size_t length)
{
	char *copy;

	if (length >= ARENA_BLOCK_SIZE / 8) {
		copy = arena_block(x, length + 1);
	} else {
		if (x->arena_left <= length) {
			x->arena_at = arena_block(x, ARENA_BLOCK_SIZE);
			x->arena_left = ARENA_BLOCK_SIZE;
		}
		copy = x->arena_at;
		x->arena_at += length + 1;
		x->arena_left -= length + 1;
	}
	memcpy(copy, s, length);
	copy[length] = '\0';
	return copy;
}

static bool string_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;
	const struct string_key *k = key;
	const char *s = p->strings[id];

	return strncmp(s, k->s, k->length) == 0 && s[k->length] == '\0';
}

uint32_t profile_string(struct profile *p, const char *s, size_t length)
{
	struct string_key key = { .s = "" };
	uint32_t next = p->nr_strings, id;

	if (length)
		key = (struct string_key){ .s = s, .length = strnlen(s, length) };
	id = intern_id(&p->index->strings, hash_of(p, key.s, key.length), next, string_equal, p,
		       &key);
	if (id == next) {
		assert(next < PROFILE_NONE);
		GROW(p, strings, 1);
		p->strings[p->nr_strings++] = arena_string(p->index, key.s, key.length);
	}
	return id;
}

uint32_t profile_cstring(struct profile *p, const char *s)
{
	return profile_string(p, s, strlen(s));
}

static bool module_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;

	return memcmp(&p->modules[id], key, sizeof(p->modules[id])) == 0;
}

uint32_t profile_module(struct profile *p, const struct profile_module *module)
{
	struct profile_module key;
	uint32_t next = p->nr_modules, id;

	assert(module->build_id_size <= BUILD_ID_MAX && module->path < p->nr_strings);
	assert(module->kind != MODULE_PYTHON || module->code_name < p->nr_strings);
	memset(&key, 0, sizeof(key)); /* padding too, because keys are compared as bytes */
	key.path = module->path;
	key.pid = module->pid;
	key.kind = module->kind;
	key.build_id_size = module->build_id_size;
	memcpy(key.build_id, module->build_id, module->build_id_size);
	key.dev = module->dev;
	key.ino = module->ino;
	id = intern_id(&p->index->modules, hash_of(p, &key, sizeof(key)), next, module_equal, p,
		       &key);
	if (id == next) {
		GROW(p, modules, 1);
		memcpy(&p->modules[p->nr_modules++], &key, sizeof(key));
	}
	return id;
}

static bool thread_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;

	return memcmp(&p->threads[id], key, sizeof(p->threads[id])) == 0;
}

uint32_t profile_thread_of_host(struct profile *p, const struct profile_thread *thread)
{
	const struct profile_thread key = *thread; /* has no padding: it is compared as bytes */
	uint32_t next = p->nr_threads, id;

	assert(key.comm < p->nr_strings && key.host < p->nr_strings);
	id = intern_id(&p->index->threads, hash_of(p, &key, sizeof(key)), next, thread_equal, p,
		       &key);
	if (id == next) {
		GROW(p, threads, 1);
		p->threads[p->nr_threads++] = key;
		p->has_hosts |= key.host;
	}
	return id;
}

uint32_t profile_thread(struct profile *p, uint32_t pid, uint32_t tid, uint32_t comm)
{
	const struct profile_thread thread = { .pid = pid, .tid = tid, .comm = comm };

	return profile_thread_of_host(p, &thread);
}

static bool frame_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_frame *frame = &((const struct profile *)owner)->frames[id];
	const uint64_t *k = key;

	return frame->address == k[0] && frame->module == k[1];
}

static uint32_t frame_id(struct profile *p, const uint64_t key[2], uint32_t hash)
{
	uint32_t next = p->nr_frames, id;

	assert(key[1] < p->nr_modules);
	id = intern_id(&p->index->frames, hash, next, frame_equal, p, key);
	if (id == next) {
		assert(next < PROFILE_NONE);
		GROW(p, frames, 1);
		p->frames[p->nr_frames++] = (struct profile_frame){
			.module = (uint32_t)key[1],
			.address = key[0],
		};
	}
	return id;
}

uint32_t profile_frame(struct profile *p, uint32_t module, uint64_t address)
{
	uint64_t key[2] = { address, module };

	return frame_id(p, key, hash_of(p, key, sizeof(key)));
}

void profile_frame_batch(struct profile *p, const struct profile_frame *keys, size_t nr,
			 uint32_t *ret_ids)
{
	uint64_t content[PROFILE_BATCH][2];
	uint32_t hashes[PROFILE_BATCH];

	assert(nr <= PROFILE_BATCH);
	for (size_t i = 0; i < nr; i++) {
		content[i][0] = keys[i].address;
		content[i][1] = keys[i].module;
		hashes[i] = hash_of(p, content[i], sizeof(content[i]));
		intern_prefetch(&p->index->frames, hashes[i]);
	}
	for (size_t i = 0; i < nr; i++) {
		uint32_t guess = intern_guess(&p->index->frames, hashes[i]);

		if (guess != PROFILE_NONE)
			__builtin_prefetch(&p->frames[guess]);
	}
	for (size_t i = 0; i < nr; i++)
		ret_ids[i] = frame_id(p, content[i], hashes[i]);
}

static bool stack_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;
	const struct profile_stack *stack = &p->stacks[id];
	const struct stack_key *k = key;

	return stack->nr_frames == k->nr &&
	       (!k->nr || memcmp(&p->stack_frames[stack->first_frame], k->frames,
				 k->nr * sizeof(*k->frames)) == 0);
}

static uint32_t add_stack(struct profile *p, const uint32_t *frames, size_t nr)
{
	uint32_t id = (uint32_t)p->nr_stacks;

	GROW(p, stacks, 1);
	p->stacks[p->nr_stacks++] = (struct profile_stack){
		.first_frame = p->nr_stack_frames,
		.nr_frames = nr,
	};
	GROW(p, stack_frames, nr + 1);
	if (nr)
		memcpy(&p->stack_frames[p->nr_stack_frames], frames, nr * sizeof(*frames));
	p->nr_stack_frames += nr;
	p->stack_frames[p->nr_stack_frames++] = PROFILE_NONE;
	return id;
}

/* Keeps two places for the stack that stands for those that are left out. */
static bool has_room(const struct profile *p, size_t nr)
{
	return nr + 3 < p->stack_frames_max && p->nr_stack_frames < p->stack_frames_max - nr - 3;
}

uint32_t profile_marker_frame(struct profile *p, enum marker marker)
{
	struct profile_module module = { .kind = MODULE_MARKER };

	return profile_frame(p, profile_module(p, &module), marker);
}

static uint32_t leave_out(struct profile *p)
{
	uint32_t frame;

	p->nr_stacks_left_out++;
	if (p->stack_left_out == PROFILE_NONE) {
		frame = profile_marker_frame(p, MARKER_OVER_LIMIT);
		p->stack_left_out = add_stack(p, &frame, 1);
	}
	return p->stack_left_out;
}

static uint32_t stack_id(struct profile *p, const uint32_t *frames, size_t nr, uint32_t hash)
{
	struct stack_key key = { .frames = frames, .nr = nr };
	uint32_t next = p->nr_stacks, id;

	if (!has_room(p, nr)) /* checked before its id is taken */
		return leave_out(p);
	id = intern_id(&p->index->stacks, hash, next, stack_equal, p, &key);
	return id == next ? add_stack(p, frames, nr) : id;
}

uint32_t profile_stack(struct profile *p, const uint32_t *frames, size_t nr)
{
	if (!has_room(p, nr)) /* checked before it is read */
		return leave_out(p);
	return stack_id(p, frames, nr, hash_of(p, frames, nr * sizeof(*frames)));
}

/* Fetches the frames of the stacks that may be equal; PROFILE_NONE: no such stack. */
static void prefetch_stacks(const struct profile *p, const uint32_t *guesses, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const uint32_t *frames;

		if (guesses[i] == PROFILE_NONE)
			continue;
		frames = &p->stack_frames[p->stacks[guesses[i]].first_frame];
		__builtin_prefetch(frames); /* the processor fetches ahead in a longer one */
		__builtin_prefetch(frames + 16);
	}
}

void profile_stack_batch(struct profile *p, const uint32_t *frames, const size_t *ends, size_t nr,
			 uint32_t *ret_ids)
{
	uint32_t hashes[PROFILE_BATCH], guesses[PROFILE_BATCH];
	size_t at = 0;

	assert(nr <= PROFILE_BATCH);
	for (size_t i = 0; i < nr; at = ends[i++]) {
		hashes[i] = hash_of(p, frames + at, (ends[i] - at) * sizeof(*frames));
		intern_prefetch(&p->index->stacks, hashes[i]);
	}
	for (size_t i = 0; i < nr; i++) {
		guesses[i] = intern_guess(&p->index->stacks, hashes[i]);
		if (guesses[i] != PROFILE_NONE)
			__builtin_prefetch(&p->stacks[guesses[i]]);
	}
	prefetch_stacks(p, guesses, nr);
	at = 0;
	for (size_t i = 0; i < nr; at = ends[i++])
		ret_ids[i] = stack_id(p, frames + at, ends[i] - at, hashes[i]);
}

uint32_t profile_new_stack(struct profile *p, const uint32_t *frames, size_t nr)
{
	return has_room(p, nr) ? add_stack(p, frames, nr) : leave_out(p);
}

static bool function_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;

	return memcmp(&p->functions[id], key, sizeof(p->functions[id])) == 0;
}

uint32_t profile_function(struct profile *p, const struct profile_function *function)
{
	struct profile_function key;
	uint32_t next = p->nr_functions, id;

	memset(&key, 0, sizeof(key));
	key.name = function->name;
	key.system_name = function->system_name;
	key.module = function->module;
	key.file = function->file;
	key.start_line = function->start_line;
	key.kind = function->kind;
	id = intern_id(&p->index->functions, hash_of(p, &key, sizeof(key)), next, function_equal, p,
		       &key);
	if (id == next) {
		GROW(p, functions, 1);
		memcpy(&p->functions[p->nr_functions++], &key, sizeof(key));
	}
	return id;
}

void profile_add_sample(struct profile *p, const struct profile_sample *sample)
{
	assert(sample->stack < p->nr_stacks);
	GROW(p, samples, 1);
	p->samples[p->nr_samples++] = *sample;
}

void profile_set_locations(struct profile *p, uint32_t frame,
			   const struct profile_location *locations, size_t nr)
{
	struct profile_frame *f = &p->frames[frame];

	if (nr > f->nr_locations) {
		assert(p->nr_locations + nr < PROFILE_NONE);
		GROW(p, locations, nr);
		f->first_location = p->nr_locations;
		p->nr_locations += nr;
	}
	f->nr_locations = nr;
	if (nr)
		memcpy(&p->locations[f->first_location], locations, nr * sizeof(*locations));
}

uint32_t profile_part_frame(struct profile *p, uint32_t frame, uint32_t first, uint32_t nr)
{
	struct profile_frame part = p->frames[frame];

	assert(first + nr <= part.nr_locations && p->nr_frames < PROFILE_NONE);
	part.first_location += first;
	part.nr_locations = nr;
	GROW(p, frames, 1);
	p->frames[p->nr_frames] = part;
	return p->nr_frames++;
}

const char *profile_frame_fallback_name(const struct profile *p, uint32_t frame, char *buf,
					size_t size)
{
	const struct profile_frame *f = &p->frames[frame];
	const struct profile_module *module = &p->modules[f->module];
	const char *base = path_base_name(p->strings[module->path]);

	switch ((enum module_kind)module->kind) {
	case MODULE_MARKER:
		if (f->address < NR_MARKERS)
			snprintf(buf, size, "%s", marker_name((enum marker)f->address));
		else if (repeat_marker_is(f->address))
			repeat_marker_name(f->address, buf, size);
		else
			snprintf(buf, size, "[marker %" PRIu64 "]", f->address);
		return buf;
	case MODULE_NAMED:
		snprintf(buf, size, "%s",
			 f->address < p->nr_strings ? p->strings[f->address] : "[unknown]");
		return buf;
	case MODULE_ELF:
	case MODULE_VDSO:
	case MODULE_KERNEL:
	case MODULE_JIT:
	case MODULE_PYTHON: break;
	}
	snprintf(buf, size, "%s+0x%" PRIx64, *base ? base : "[unknown]", f->address);
	return buf;
}
