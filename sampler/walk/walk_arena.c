/*
 * The memfd is sealed once this process has its writable mapping, so targets can only map it to
 * read. A module's state is written last, with release order: it makes the rest of the entry valid.
 */
#include "sampler/walk/walk_arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/untrusted/shared_memory.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"
#include "sampler/walk/table_builder.h"
#include "sampler/unwind/unwind_table.h"

struct words {
	uint32_t start, nr;
};

struct walk_arena_writer {
	int fd;
	struct walk_arena *arena;
	uint32_t next;	    /* free word; behind it nothing was used yet */
	struct words *of;   /* by module: those of its rows */
	struct words *free; /* given back, by address; neighbours are joined */
	size_t nr_free, free_capacity;
};

static void set_state(struct walk_arena_writer *w, uint32_t module, enum walk_module_state state)
{
	__atomic_store_n(&w->arena->modules[module].state, state, __ATOMIC_RELEASE);
}

int walk_arena_new(struct walk_arena_writer **ret)
{
	struct walk_arena_writer *w = xcalloc(1, sizeof(*w));
	void *at;
	int err;

	err = shared_memory_new("sprof-rows", sizeof(*w->arena), SHARED_MEMORY_READ, &w->fd, &at);
	if (err) {
		free(w);
		return err;
	}
	w->arena = at;
	w->of = xcalloc(WALK_MAX_MODULES, sizeof(*w->of));
	w->arena->magic = WALK_ARENA_MAGIC;
	set_state(w, FILE_OVER_LIMIT, WALK_MODULE_OVER_LIMIT);
	*ret = w;
	return 0;
}

void walk_arena_free(struct walk_arena_writer *w)
{
	if (!w)
		return;
	shared_memory_unmap(w->arena, sizeof(*w->arena));
	close(w->fd);
	free(w->of);
	free(w->free);
	free(w);
}

static void remove_free(struct walk_arena_writer *w, size_t i)
{
	memmove(&w->free[i], &w->free[i + 1], (--w->nr_free - i) * sizeof(*w->free));
}

/* Takes words for a table: the first free ones that are enough. false: there are none. */
static bool take_words(struct walk_arena_writer *w, uint64_t nr, uint32_t *ret_start)
{
	for (size_t i = 0; i < w->nr_free; i++) {
		struct words *f = &w->free[i];

		if (f->nr < nr)
			continue;
		*ret_start = f->start;
		f->start += (uint32_t)nr;
		f->nr -= (uint32_t)nr;
		if (!f->nr)
			remove_free(w, i);
		return true;
	}
	if (nr > WALK_ARENA_WORDS - w->next)
		return false;
	*ret_start = w->next;
	w->next += (uint32_t)nr;
	return true;
}

static void give_words(struct walk_arena_writer *w, struct words given)
{
	size_t i = 0;

	if (!given.nr)
		return;
	while (i < w->nr_free && w->free[i].start < given.start)
		i++;
	w->free = xgrow(w->free, &w->free_capacity, w->nr_free + 1, sizeof(*w->free));
	memmove(&w->free[i + 1], &w->free[i], (w->nr_free++ - i) * sizeof(*w->free));
	w->free[i] = given;
	if (i + 1 < w->nr_free && given.start + given.nr == w->free[i + 1].start) {
		w->free[i].nr += w->free[i + 1].nr;
		remove_free(w, i + 1);
	}
	if (i && w->free[i - 1].start + w->free[i - 1].nr == w->free[i].start) {
		w->free[i - 1].nr += w->free[i].nr;
		remove_free(w, i);
	}
}

int walk_arena_fd(const struct walk_arena_writer *w)
{
	return w->fd;
}

struct walk_rule *walk_arena_rules(struct walk_arena_writer *w)
{
	return w->arena->rules;
}

void walk_arena_reset_module(struct walk_arena_writer *w, uint32_t module)
{
	if (module < WALK_MAX_MODULES)
		set_state(w, module, WALK_MODULE_PENDING);
}

void walk_arena_hide_module(struct walk_arena_writer *w, uint32_t module)
{
	if (module < WALK_MAX_MODULES)
		set_state(w, module, WALK_MODULE_NO_ROWS);
}

void walk_arena_remove_module(struct walk_arena_writer *w, uint32_t module)
{
	if (module >= WALK_MAX_MODULES)
		return;
	walk_arena_hide_module(w, module);
	give_words(w, w->of[module]);
	w->of[module] = (struct words){ 0 };
}

int walk_arena_add_table(struct walk_arena_writer *w, uint32_t module, const struct unwind_table *t)
{
	struct walk_module *to;
	uint32_t pages, rows;

	if (module >= WALK_MAX_MODULES)
		return -ENOSPC;
	if (!t || !take_words(w, (uint64_t)t->nr_pages + t->nr_words, &pages)) {
		set_state(w, module, WALK_MODULE_NO_ROWS);
		return t ? -ENOSPC : 0;
	}
	rows = pages + t->nr_pages;
	w->of[module] = (struct words){ pages, t->nr_pages + t->nr_words };
	for (uint32_t i = 0; i < t->nr_pages; i++)
		w->arena->words[pages + i] =
			t->pages[i] & WALK_ONE_RULE ? t->pages[i] : t->pages[i] + rows;
	memcpy(&w->arena->words[rows], t->words, t->nr_words * sizeof(*t->words));
	to = &w->arena->modules[module];
	to->base = t->base;
	to->pages = pages;
	to->nr_pages = t->nr_pages;
	set_state(w, module, WALK_MODULE_ROWS);
	return 0;
}

bool walk_arena_find_rule(const struct walk_arena_writer *w, uint32_t module, uint64_t vaddr,
			  struct walk_rule *ret)
{
	struct walk_place place = { 0 };

	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	if (module >= WALK_MAX_MODULES)
		return true;
	place.module = w->arena->modules[module];
	if (place.module.state == WALK_MODULE_PENDING)
		return false;
	*ret = w->arena->rules[walk_find_rule(w->arena, &place, vaddr)];
	return true;
}

bool walk_arena_add_file(struct walk_arena_writer *w, struct table_builder *builder,
			 const struct mapped_file *file)
{
	const void *vdso;
	size_t size;

	walk_arena_reset_module(w, file->index);
	if (file->kind == MODULE_ELF && file->nr_segments)
		table_builder_request(builder, file);
	else if (file->kind == MODULE_VDSO && (vdso = file_table_vdso_image(&size)))
		table_builder_request_memory(builder, file->index, vdso, size);
	else
		return walk_arena_add_table(w, file->index, NULL) > 0;
	return true;
}

size_t walk_space_publish(struct walk_space *space, const struct process *process, uint32_t epoch,
			  uint32_t *generation)
{
	uint32_t next = *generation + 1;
	struct walk_map *maps = space->maps[next & 1];
	size_t nr = process->nr_maps < WALK_MAX_MAPS ? process->nr_maps : WALK_MAX_MAPS;

	for (size_t i = 0; i < nr; i++) {
		const struct mapping *m = &process->maps[i];

		maps[i] = (struct walk_map){
			.start = m->start,
			.end = m->end,
			.bias = mapping_bias(m),
			.module = m->code->index,
		};
	}
	__atomic_store_n(&space->nr_maps[next & 1], (uint32_t)nr, __ATOMIC_RELAXED);
	__atomic_store_n(&space->epoch, epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&space->generation, next, __ATOMIC_RELEASE);
	*generation = next;
	return process->nr_maps - nr;
}
