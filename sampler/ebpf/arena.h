/*
 * The recorder's end of the BPF arena: a growing array of 32-bit words that the kernel side reads
 * and this side writes through shared mappings. It holds the unwind tables of files, map tables of
 * processes, and rows of runtime code. All are removed once the kernel side has stopped reading
 * them.
 */
#ifndef SPROF_ARENA_H
#define SPROF_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/bpf/events.h"

#define ARENA_MAX_REGION (1u << 16) /* words */

struct arena;
struct unwind_table;

/*
 * `outer_fd`: the array of maps; it must outlive the arena, which grows to that many shards at most
 * (of ARENA_MAX_SHARDS).
 */
struct arena *arena_new(int outer_fd, uint32_t max_shards);
void arena_free(struct arena *arena); /* NULL is fine */

/* What its shards take, in bytes. */
uint64_t arena_bytes(const struct arena *arena);

/* Words that are used for one thing. */
struct arena_words {
	uint32_t start, nr;
	uint32_t charged; /* to a user; the owner's */
};

/*
 * Copies an unwind table in and fills the entry that finds it (state included). -ENOSPC when the
 * arena is full, -errno when the kernel gives no more memory; *ret_entry is then untouched.
 */
int arena_add_table(struct arena *arena, const struct unwind_table *table,
		    struct module_entry *ret_entry, struct arena_words *ret_words);
/* Removes such a table. */
void arena_remove_words(struct arena *arena, struct arena_words words);

/*
 * A region for `nr` map entries (at most WALK_MAX_MAPS). Returns its address; *ret_index names it
 * to the kernel side. NULL where there is no memory for it.
 */
struct map_entry *arena_add_maps(struct arena *arena, size_t nr, uint32_t *ret_index);
/* Frees such a region. The kernel side must have stopped reading it. */
void arena_remove_maps(struct arena *arena, uint32_t index, size_t nr);

/*
 * As arena_add_table(), for a table that is removed again; -E2BIG where it needs more than
 * ARENA_MAX_REGION words. It is removed by the same table and the entry that it got, once the
 * kernel side has stopped reading it.
 */
int arena_add_region(struct arena *arena, const struct unwind_table *table,
		     struct module_entry *ret_entry);
void arena_remove_region(struct arena *arena, const struct module_entry *entry,
			 const struct unwind_table *table);

/* The number of the rule at an ELF virtual address of a module that has rows. */
uint32_t arena_find_rule(const struct arena *arena, const struct module_entry *module,
			 uint64_t vaddr);

#endif
