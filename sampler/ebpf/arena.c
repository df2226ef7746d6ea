/*
 * The arena is an array of maps of 1 MiB, the shards, each created and mapped when it is first
 * needed. What stays (unwind tables of files) is laid down by a bump pointer. What is freed again
 * (map tables, rows of runtime code) lies in regions of a power of two of words, with a free list
 * for each size.
 */
#include "sampler/ebpf/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "core/base/alloc.h"
#include "sampler/unwind/unwind_table.h"

#define SHARD_BYTES (ARENA_SHARD_WORDS * sizeof(uint32_t))
#define MIN_CLASS 6   /* the smallest region: 64 words */
#define NR_CLASSES 11 /* the largest: WALK_MAX_MAPS * MAP_ENTRY_WORDS = ARENA_MAX_REGION words */

struct free_regions {
	uint32_t *indexes;
	size_t nr, capacity;
};

struct arena {
	int outer_fd;
	uint32_t nr_shards;
	int fds[ARENA_MAX_SHARDS];
	uint32_t *shards[ARENA_MAX_SHARDS];
	uint64_t next; /* word index of the first free word */
	struct free_regions free[NR_CLASSES];
};

struct arena *arena_new(int outer_fd)
{
	struct arena *a = xcalloc(1, sizeof(*a));

	a->outer_fd = outer_fd;
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < a->nr_shards; i++) {
		munmap(a->shards[i], SHARD_BYTES);
		close(a->fds[i]);
	}
	for (int i = 0; i < NR_CLASSES; i++)
		free(a->free[i].indexes);
	free(a);
}

static int add_shard(struct arena *a)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t key = a->nr_shards;
	void *words;
	int fd, err;

	if (key == ARENA_MAX_SHARDS)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sprof_arena", sizeof(key), SHARD_BYTES, 1, &opts);
	if (fd < 0)
		return -errno;
	words = mmap(NULL, SHARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	if (bpf_map_update_elem(a->outer_fd, &key, &fd, BPF_ANY)) {
		err = -errno;
		munmap(words, SHARD_BYTES);
		close(fd);
		return err;
	}
	a->fds[key] = fd;
	a->shards[key] = words;
	a->nr_shards++;
	return 0;
}

/* Adds shards until the words up to `end` exist. */
static int reserve(struct arena *a, uint64_t end)
{
	while ((uint64_t)a->nr_shards << ARENA_SHARD_SHIFT < end) {
		int err = add_shard(a);

		if (err)
			return err;
	}
	return 0;
}

static uint32_t *word(const struct arena *a, uint64_t index)
{
	return &a->shards[index >> ARENA_SHARD_SHIFT][index & ARENA_SHARD_MASK];
}

/* Where a run of `nr` words may start at or after `index` without crossing a shard. */
static uint64_t place_run(uint64_t index, uint32_t nr)
{
	uint64_t room = ARENA_SHARD_WORDS - (index & ARENA_SHARD_MASK);

	return nr <= room ? index : index + room;
}

static uint32_t run_size(const struct unwind_table *t, uint32_t page)
{
	uint32_t w = t->pages[page];

	return w & WALK_ONE_RULE ? 0 : t->words[w] >> 16;
}

int arena_add_table(struct arena *a, const struct unwind_table *t, struct module_entry *ret_entry)
{
	uint64_t pages = a->next, next = pages + t->nr_pages;
	int err;

	for (uint32_t i = 0; i < t->nr_pages; i++) {
		uint32_t nr = run_size(t, i);

		if (nr)
			next = place_run(next, nr) + nr;
	}
	err = reserve(a, next);
	if (err)
		return err;
	next = pages + t->nr_pages;
	for (uint32_t i = 0; i < t->nr_pages; i++) {
		uint32_t nr = run_size(t, i);

		if (!nr) {
			*word(a, pages + i) = t->pages[i];
			continue;
		}
		next = place_run(next, nr);
		memcpy(word(a, next), &t->words[t->pages[i]], nr * sizeof(uint32_t));
		*word(a, pages + i) = (uint32_t)next;
		next += nr;
	}
	a->next = next;
	*ret_entry = (struct module_entry){
		.base = t->base,
		.pages = (uint32_t)pages,
		.nr_pages = t->nr_pages,
		.state = WALK_MODULE_ROWS,
	};
	return 0;
}

static int size_class(size_t nr_words)
{
	int c = 0;

	while ((1ul << (c + MIN_CLASS)) < nr_words)
		c++;
	return c;
}

/* A region for `nr` words, inside one shard. 0 and *ret_index, or -errno. */
static int take_region(struct arena *a, size_t nr, uint32_t *ret_index)
{
	int c = size_class(nr), err;
	uint32_t nr_words = 1u << (c + MIN_CLASS);
	uint64_t index;

	if (a->free[c].nr) {
		*ret_index = a->free[c].indexes[--a->free[c].nr];
		return 0;
	}
	/* Entries are read as 64-bit words: keep them aligned. */
	index = place_run((a->next + MAP_ENTRY_WORDS - 1) & ~(MAP_ENTRY_WORDS - 1ull), nr_words);
	err = reserve(a, index + nr_words);
	if (err)
		return err;
	a->next = index + nr_words;
	*ret_index = (uint32_t)index;
	return 0;
}

static void give_back(struct arena *a, uint32_t index, size_t nr)
{
	struct free_regions *f = &a->free[size_class(nr)];

	f->indexes = xgrow(f->indexes, &f->capacity, f->nr + 1, sizeof(*f->indexes));
	f->indexes[f->nr++] = index;
}

struct map_entry *arena_add_maps(struct arena *a, size_t nr, uint32_t *ret_index)
{
	uint32_t index;

	if (nr > WALK_MAX_MAPS || take_region(a, nr * MAP_ENTRY_WORDS, &index))
		return NULL;
	*ret_index = index;
	return (struct map_entry *)word(a, index);
}

void arena_remove_maps(struct arena *a, uint32_t index, size_t nr)
{
	give_back(a, index, nr * MAP_ENTRY_WORDS);
}

int arena_add_region(struct arena *a, const struct unwind_table *t, struct module_entry *ret_entry)
{
	size_t nr = (size_t)t->nr_pages + t->nr_words;
	uint32_t index, *to;
	int err;

	if (nr > ARENA_MAX_REGION)
		return -E2BIG;
	err = take_region(a, nr, &index);
	if (err)
		return err;
	to = word(a, index);
	for (uint32_t i = 0; i < t->nr_pages; i++) {
		uint32_t page = t->pages[i];

		to[i] = page & WALK_ONE_RULE ? page : page + index + t->nr_pages;
	}
	memcpy(to + t->nr_pages, t->words, t->nr_words * sizeof(*to));
	*ret_entry = (struct module_entry){
		.base = t->base,
		.pages = index,
		.nr_pages = t->nr_pages,
		.state = WALK_MODULE_ROWS,
	};
	return 0;
}

void arena_remove_region(struct arena *a, const struct module_entry *entry,
			 const struct unwind_table *t)
{
	give_back(a, entry->pages, (size_t)t->nr_pages + t->nr_words);
}

uint32_t arena_find_rule(const struct arena *a, const struct module_entry *module, uint64_t vaddr)
{
	uint64_t offset = vaddr - module->base;
	uint32_t page;

	if (vaddr < module->base || offset >> WALK_PAGE_SHIFT >= module->nr_pages)
		return WALK_RULE_NONE;
	page = *word(a, module->pages + (offset >> WALK_PAGE_SHIFT));
	if (page & WALK_ONE_RULE)
		return walk_row_rule(page);
	return walk_search_run(a->shards[page >> ARENA_SHARD_SHIFT], page & ARENA_SHARD_MASK,
			       *word(a, page) >> 16, offset & (WALK_PAGE_SIZE - 1),
			       ARENA_SHARD_MASK);
}
