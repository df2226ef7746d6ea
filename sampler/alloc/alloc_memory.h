/*
 * Our memory in a process whose allocations are sampled: where it goes, how it is mapped, what is
 * written into it before hooks lead there, and how it is unmapped.
 */
#ifndef SPROF_ALLOC_MEMORY_H
#define SPROF_ALLOC_MEMORY_H

#include <stdbool.h>

#include "sampler/agent/alloc/alloc_region.h"

struct alloc_target;
struct inject;
struct inject_process;
struct inject_reason;

#define ALLOC_PAGE 4096ull
#define ALLOC_PRIVATE_SIZE ((sizeof(struct alloc_private) + ALLOC_PAGE - 1) & ~(ALLOC_PAGE - 1))

/* The code that is written into targets. */
const struct alloc_payload *alloc_memory_payload(void);
/* Chooses where it goes: near the functions that are planned. 0, or -ENOMEM and the reason. */
int alloc_memory_choose(struct alloc_target *target, struct inject_reason *reason);
/* Maps it. 0, or -errno and the reason; then nothing stays there. */
int alloc_memory_map(struct inject *inject, struct alloc_target *target,
		     struct inject_reason *reason);
/* Writes our code and the stubs of the hooks. 0 or -errno. */
int alloc_memory_write(const struct inject *inject, struct alloc_target *target);
/* After the hooks are off, or were never on. 0, or -errno and the reason. */
int alloc_memory_unmap(struct inject *inject, const struct alloc_target *target,
		       struct inject_reason *reason);
/* Is this still the program that it was mapped into, and has no other recorder replaced it? */
bool alloc_memory_is_there(const struct inject_process *process, const struct alloc_target *target);

#endif
