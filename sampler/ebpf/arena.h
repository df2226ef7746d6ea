/*
 * The recorder's end of the BPF arena: a growing array of 32-bit words that the kernel side reads
 * and this side writes through shared mappings. It holds unwind tables (kept for the life of the
 * recording) and process map tables (freed and reused).
 */
#ifndef SPROF_ARENA_H
#define SPROF_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/bpf/events.h"

#define ARENA_MAX_REGION (1u << 16)

struct arena;
struct unwind_table;

/* `outer_fd`: the array-of-maps, borrowed. */
struct arena *arena_new(int outer_fd);
void arena_free(struct arena *arena); /* NULL is fine */

/*
 * Copies an unwind table in and fills the entry that finds it (state included). -ENOSPC when the
 * arena is full, -errno when the kernel gives no more memory; *ret_entry is then untouched.
 */
int arena_add_table(struct arena *arena, const struct unwind_table *table,
		    struct module_entry *ret_entry);

/*
 * A region for `nr` map entries (at most WALK_MAX_MAPS), as a whole inside one shard. Returns its
 * address; *ret_index names it to the kernel side. NULL: -ENOSPC.
 */
struct map_entry *arena_add_maps(struct arena *arena, size_t nr, uint32_t *ret_index);
/* Gives such a region back. The kernel side must have stopped reading it. */
void arena_remove_maps(struct arena *arena, uint32_t index, size_t nr);

/*
 * The same for a table that goes away again, in a region of at most ARENA_MAX_REGION words; -E2BIG where it is
 * larger. Given back with the same table and the entry that it got, once the kernel side has stopped reading it.
 */
int arena_add_region(struct arena *arena, const struct unwind_table *table,
		     struct module_entry *ret_entry);
void arena_remove_region(struct arena *arena, const struct module_entry *entry,
			 const struct unwind_table *table);

/* The rule number in force at an ELF virtual address of a module that has rows. */
uint32_t arena_find_rule(const struct arena *arena, const struct module_entry *module,
			 uint64_t vaddr);

size_t arena_size_bytes(const struct arena *arena);

#endif
