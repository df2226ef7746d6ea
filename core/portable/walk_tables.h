/*
 * The tables that a walk inside a target reads: the layout of two mappings that the recorder writes
 * and the target can only read, and the lookups in them. Rows are as in walk.h.
 *
 *   arena   rules, modules and unwind rows, by number of the module. One for all targets of a
 *	     recording; it only grows. A module's state is written last, with release order.
 *   space   the executable mappings of one process and the layout of its Python interpreter, in two
 *	     tables of which one is valid: the recorder fills the other and then raises
 *	     `generation`. A walk that saw two generations pass must not be believed, because its
 *	     table may have been written meanwhile.
 *
 * Nothing is locked and every index is bounded: a walk through stale or half-written tables gives a
 * wrong frame at worst, never a fault.
 */
#ifndef SPROF_WALK_TABLES_H
#define SPROF_WALK_TABLES_H

#include "core/portable/pylayout.h"
#include "core/portable/walk.h"

#define WALK_ARENA_WORDS (1u << 24)
#define WALK_ARENA_MASK (WALK_ARENA_WORDS - 1)
#define WALK_ARENA_MAGIC 0x314e455241525053ull /* "SPRAREN1" */
#define WALK_SPACE_MAGIC 0x3143415053525053ull /* "SPRSPAC1" */

/* An executable mapping. vaddr in the module's rows = pc - bias. */
struct walk_map {
	__u64 start, end;
	__u64 bias;
	__u32 module; /* number in the arena */
	__u32 pad;
};
_Static_assert(sizeof(struct walk_map) == 32, "no holes");

struct walk_module {
	__u64 base;  /* vaddr of page 0 */
	__u32 pages; /* index of its page words in words[] */
	__u32 nr_pages;
	__u32 state; /* enum walk_module_state */
	__u32 pad;
};
_Static_assert(sizeof(struct walk_module) == 24, "no holes");

struct walk_arena {
	__u64 magic;
	__u64 pad[511];
	struct walk_rule rules[WALK_NR_RULES];
	struct walk_module modules[WALK_MAX_MODULES];
	__u32 words[WALK_ARENA_WORDS]; /* sparse: only written pages take memory */
};

struct walk_space {
	__u64 magic;
	__u32 generation; /* number of tables published; maps[generation & 1] is valid */
	__u32 epoch;	  /* agent_region.maps_epoch when the table was written */
	__u32 nr_maps[2];
	struct py_layout python[2]; /* .runtime is 0 where there is no interpreter */
	__u64 pad[481];
	struct walk_map maps[2][WALK_MAX_MAPS];
};
_Static_assert(sizeof(struct walk_space) % 4096 == 0, "mapped by itself");
_Static_assert(sizeof(struct walk_arena) % 4096 == 0, "mapped by itself");

/* The current mapping and module; most frames stay in it. */
struct walk_place {
	__u64 start, end, bias;
	struct walk_module module;
};

/* Makes the mapping that holds pc the current one. Returns 1 where there is one. */
static __always_inline int walk_find_place(const struct walk_space *space,
					   const struct walk_arena *arena, __u32 generation,
					   __u64 pc, struct walk_place *place)
{
	const struct walk_map *maps = space->maps[generation & 1];
	__u32 low = 0, high = __atomic_load_n(&space->nr_maps[generation & 1], __ATOMIC_RELAXED);
	const struct walk_module *module;

	if (!high || high > WALK_MAX_MAPS)
		return 0;
	while (high - low > 1) {
		__u32 middle = (low + high) >> 1;

		if (maps[middle].start <= pc)
			low = middle;
		else
			high = middle;
	}
	if (pc < maps[low].start || pc >= maps[low].end || maps[low].module >= WALK_MAX_MODULES)
		return 0;
	place->start = maps[low].start;
	place->end = maps[low].end;
	place->bias = maps[low].bias;
	module = &arena->modules[maps[low].module];
	/* acquire: the rest was written before the state */
	place->module.state = __atomic_load_n(&module->state, __ATOMIC_ACQUIRE);
	place->module.base = module->base;
	place->module.pages = module->pages;
	place->module.nr_pages = module->nr_pages;
	return 1;
}

/* Returns the number of the rule at pc, which is in the current mapping. */
static __always_inline __u32 walk_find_rule(const struct walk_arena *arena,
					    const struct walk_place *place, __u64 pc)
{
	__u64 offset = pc - place->bias - place->module.base;
	__u32 page, word;

	if (place->module.state == WALK_MODULE_OVER_LIMIT)
		return WALK_RULE_OVER_LIMIT;
	if (place->module.state != WALK_MODULE_ROWS || offset >> 32)
		return WALK_RULE_NONE;
	page = (__u32)offset >> WALK_PAGE_SHIFT;
	if (page >= place->module.nr_pages)
		return WALK_RULE_NONE;
	word = arena->words[(place->module.pages + page) & WALK_ARENA_MASK];
	if (word & WALK_ONE_RULE)
		return walk_row_rule(word);
	return walk_search_run(arena->words, word,
			       arena->words[word & WALK_ARENA_MASK] >> 16 & 2047,
			       offset & (WALK_PAGE_SIZE - 1), WALK_ARENA_MASK);
}

#endif
