/*
 * Two slots: the current rows, and those of the recorder before, in which a walk may still be. The
 * slots change places when a recorder sends rows.
 */
#include "gpu/agent/stack/walk_map.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu/agent/base/thread.h"

struct published {
	const struct walk_arena *arena;
	const struct walk_space *space;
	uint32_t base; /* added to its generations, so that no two recorders' are equal */
};

static struct published slots[2];
static const struct published *current; /* atomic */

static const void *map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, size, MADV_DONTFORK);
	return at;
}

static void unmap(const struct published *p)
{
	if (p->arena)
		munmap((void *)p->arena, sizeof(*p->arena));
	if (p->space)
		munmap((void *)p->space, sizeof(*p->space));
}

/*
 * The slot to be filled was left when the last recorder came. That is long enough ago for every
 * thread's store to `walks` to be visible: thread_walks_end() sees any walk that began then.
 */
void walk_map_set(int arena_fd, int space_fd)
{
	struct published *next = current == &slots[0] ? &slots[1] : &slots[0];
	const struct published rows = {
		.arena = map(arena_fd, sizeof(struct walk_arena)),
		.space = map(space_fd, sizeof(struct walk_space)),
		/* even: the lowest bit of a generation selects the table */
		.base = current ? current->base + 4096 : 0,
	};

	if (!rows.arena || !rows.space || rows.arena->magic != WALK_ARENA_MAGIC ||
	    rows.space->magic != WALK_SPACE_MAGIC) {
		unmap(&rows);
		return;
	}
	if (thread_walks_end())
		unmap(next);
	*next = rows;
	__atomic_store_n(&current, next, __ATOMIC_RELEASE);
}

void walk_map_in_child(void)
{
	memset(slots, 0, sizeof(slots));
	__atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
}

uint32_t walk_map_generation(void)
{
	const struct published *p = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	return p ? p->base + __atomic_load_n(&p->space->generation, __ATOMIC_ACQUIRE) : 0;
}

const struct walk_rule *walk_map_rule(uint32_t generation, uint64_t pc, struct walk_place *place)
{
	static const struct walk_rule by_frame_pointer = { .cfa = WALK_CFA_NONE };
	const struct published *p = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	if (!p)
		return &by_frame_pointer;
	if ((pc < place->start || pc >= place->end) &&
	    !walk_find_place(p->space, p->arena, generation, pc, place)) {
		place->start = place->end = 0;
		return &by_frame_pointer;
	}
	return &p->arena->rules[walk_find_rule(p->arena, place, pc) & WALK_MAX_RULES];
}

const struct py_layout *walk_map_python(uint32_t generation)
{
	static const struct py_layout none;
	const struct published *p = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	return p ? &p->space->python[generation & 1] : &none;
}
