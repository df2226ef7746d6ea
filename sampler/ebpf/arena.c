/*
 * The arena is an array of maps of 1 MiB, the shards, each but the first created and mapped when it
 * is needed. Free words between used ones form a list of extents in the order of their addresses;
 * the first that is large enough is taken, so the arena stays as short as it can. Extents begin at
 * multiples of MAP_ENTRY_WORDS, because map entries are read as 64-bit words.
 */
#include "sampler/ebpf/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "core/base/alloc.h"
#include "core/base/search.h"
#include "sampler/unwind/unwind_table.h"

#define SHARD_BYTES (ARENA_SHARD_WORDS * sizeof(uint32_t))

struct extent {
	uint64_t start, nr; /* words */
};

struct arena {
	int outer_fd;
	uint32_t nr_shards, max_shards;
	int fds[ARENA_MAX_SHARDS];
	uint32_t *shards[ARENA_MAX_SHARDS];
	uint64_t next;	     /* from this word on, nothing is used */
	struct extent *free; /* below it; sorted, not adjacent */
	size_t nr_free, capacity;
};

uint64_t arena_bytes(const struct arena *a)
{
	return a->nr_shards * SHARD_BYTES;
}

static void drop_shard(const struct arena *a, uint32_t at)
{
	munmap(a->shards[at], SHARD_BYTES);
	close(a->fds[at]);
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < a->nr_shards; i++)
		drop_shard(a, i);
	free(a->free);
	free(a);
}

/* Creates a shard that no program knows yet. 0 or -errno. */
static int make_shard(struct arena *a, uint32_t at)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *words;
	int fd, err;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sprof_arena", sizeof(uint32_t), SHARD_BYTES, 1,
			    &opts);
	if (fd < 0)
		return -errno;
	words = mmap(NULL, SHARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	a->fds[at] = fd;
	a->shards[at] = words;
	return 0;
}

/*
 * Puts new shards into the outer map, and returns how many of them. For 10 ms and more the kernel
 * waits until no program uses the map as it was, for each update or, since Linux 5.19, for all of
 * them together. Nobody empties the ring meanwhile, so it must not be a tenth of a second.
 */
static uint32_t publish(const struct arena *a, const uint32_t *keys, const int *fds, uint32_t nr)
{
	uint32_t nr_done = nr;

	if (nr > 1 && !bpf_map_update_batch(a->outer_fd, keys, fds, &nr_done, NULL))
		return nr;
	for (nr_done = 0; nr_done < nr; nr_done++)
		if (bpf_map_update_elem(a->outer_fd, &keys[nr_done], &fds[nr_done], BPF_ANY))
			break;
	return nr_done;
}

/* Adds shards until there are that many. 0 or -errno. */
static int add_shards(struct arena *a, uint64_t nr)
{
	uint32_t keys[ARENA_MAX_SHARDS], first = a->nr_shards, made = first;
	int err = nr > a->max_shards ? -ENOSPC : 0;

	while (!err && made < nr) {
		err = make_shard(a, made);
		keys[made - first] = made;
		made += !err;
	}
	if (made > first)
		a->nr_shards += publish(a, keys, &a->fds[first], made - first);
	if (!err && a->nr_shards < nr)
		err = -errno;
	while (made > a->nr_shards)
		drop_shard(a, --made);
	return err;
}

struct arena *arena_new(int outer_fd, uint32_t max_shards)
{
	struct arena *a = xcalloc(1, sizeof(*a));

	a->outer_fd = outer_fd;
	a->max_shards = max_shards;
	/*
	 * A program that is started now does not run while the kernel waits. If it fails, the first
	 * words are refused.
	 */
	add_shards(a, 1);
	return a;
}

/* Adds shards until the words up to `end` exist. */
static int reserve(struct arena *a, uint64_t end)
{
	uint64_t nr = (end + ARENA_SHARD_WORDS - 1) >> ARENA_SHARD_SHIFT;

	return nr > a->nr_shards ? add_shards(a, nr) : 0;
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

static uint64_t rounded(uint64_t nr)
{
	return (nr + MAP_ENTRY_WORDS - 1) & ~(MAP_ENTRY_WORDS - 1ull);
}

static void remove_extent(struct arena *a, size_t i)
{
	memmove(&a->free[i], &a->free[i + 1], (a->nr_free - i - 1) * sizeof(*a->free));
	a->nr_free--;
}

static void insert_extent(struct arena *a, size_t i, struct extent e)
{
	a->free = xgrow(a->free, &a->capacity, a->nr_free + 1, sizeof(*a->free));
	memmove(&a->free[i + 1], &a->free[i], (a->nr_free - i) * sizeof(*a->free));
	a->free[i] = e;
	a->nr_free++;
}

static void give_back(struct arena *a, uint64_t start, uint64_t nr)
{
	struct extent e = { start, rounded(nr) };
	size_t at;

	if (!nr)
		return;
	at = SEARCH(i, a->nr_free, a->free[i].start < start);
	if (at < a->nr_free && a->free[at].start == e.start + e.nr) {
		e.nr += a->free[at].nr;
		remove_extent(a, at);
	}
	if (at && a->free[at - 1].start + a->free[at - 1].nr == e.start) {
		e = (struct extent){ a->free[at - 1].start, a->free[at - 1].nr + e.nr };
		remove_extent(a, --at);
	}
	if (e.start + e.nr == a->next)
		a->next = e.start;
	else
		insert_extent(a, at, e);
}

/*
 * Takes `nr` words, inside one shard if `whole` is set. 0 and *ret_start, or -errno. Of an extent,
 * what is before and behind stays free.
 */
static int take(struct arena *a, uint64_t nr, bool whole, uint64_t *ret_start)
{
	uint64_t start;
	int err;

	nr = rounded(nr);
	for (size_t i = 0; i < a->nr_free; i++) {
		const struct extent e = a->free[i];

		start = whole ? place_run(e.start, (uint32_t)nr) : e.start;
		if (start + nr > e.start + e.nr)
			continue;
		remove_extent(a, i);
		if (e.start + e.nr > start + nr)
			insert_extent(a, i,
				      (struct extent){ start + nr, e.start + e.nr - start - nr });
		if (start > e.start)
			insert_extent(a, i, (struct extent){ e.start, start - e.start });
		*ret_start = start;
		return 0;
	}
	start = whole ? place_run(a->next, (uint32_t)nr) : a->next;
	err = reserve(a, start + nr);
	if (err)
		return err;
	if (start > a->next)
		insert_extent(a, a->nr_free, (struct extent){ a->next, start - a->next });
	a->next = start + nr;
	*ret_start = start;
	return 0;
}

static uint32_t run_size(const struct unwind_table *t, uint32_t page)
{
	uint32_t w = t->pages[page];

	return w & WALK_ONE_RULE ? 0 : t->words[w] >> 16;
}

/* The words that a table needs at most: a run that would cross a shard begins in the next one. */
static uint64_t most_words(const struct unwind_table *t)
{
	uint64_t nr = (uint64_t)t->nr_pages + t->nr_words;

	return nr + (nr / (ARENA_SHARD_WORDS - WALK_MAX_RUN) + 1) * WALK_MAX_RUN;
}

int arena_add_table(struct arena *a, const struct unwind_table *t, struct module_entry *ret_entry,
		    struct arena_words *ret_words)
{
	uint64_t most = rounded(most_words(t)), pages, next, used;
	int err = take(a, most, false, &pages);

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
	used = rounded(next - pages);
	give_back(a, pages + used, most - used);
	*ret_words = (struct arena_words){ .start = (uint32_t)pages, .nr = (uint32_t)used };
	*ret_entry = (struct module_entry){
		.base = t->base,
		.pages = (uint32_t)pages,
		.nr_pages = t->nr_pages,
		.state = WALK_MODULE_ROWS,
	};
	return 0;
}

void arena_remove_words(struct arena *a, struct arena_words words)
{
	give_back(a, words.start, words.nr);
}

static int take_region(struct arena *a, size_t nr, uint32_t *ret_index)
{
	uint64_t start;
	int err = take(a, nr ? nr : 1, true, &start);

	if (!err)
		*ret_index = (uint32_t)start;
	return err;
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
	give_back(a, index, nr ? nr * MAP_ENTRY_WORDS : 1);
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
