/* The slow path of hooked allocation functions: what its files share. */
#ifndef SPROF_ALLOC_SLOW_PATH_H
#define SPROF_ALLOC_SLOW_PATH_H

#include "sampler/agent/agent.h"
#include "sampler/agent/alloc/alloc_region.h"

/* The private memory lies behind the code. */
static inline struct alloc_private *alloc_home(void)
{
	return (struct alloc_private *)(agent_payload_start + ALLOC_CODE_SIZE);
}

static inline struct alloc_shared *alloc_shared_of(const struct alloc_private *a)
{
	return (struct alloc_shared *)a->shared;
}

/* countdown.c */

struct alloc_counter *alloc_counter_of(struct alloc_private *a) AGENT_HIDDEN;
/*
 * The counter has fallen below zero by an allocation of `size` bytes. Draws the next interval.
 * Returns the mean of the draw that chose this allocation, or 0: it is not sampled.
 */
AGENT_HIDDEN __u64 alloc_crossed(struct alloc_private *a, __u64 size);
AGENT_HIDDEN __u64 alloc_now_ns(void);

/* live_table.c */

/* Puts a sampled block into the table and the filter. */
AGENT_HIDDEN void alloc_live_add(struct alloc_private *a, __u64 address, __u64 draw);
/* Takes the block out. Returns the number of its draw, or 0: it was not in the table. */
AGENT_HIDDEN __u64 alloc_live_remove(struct alloc_private *a, __u64 address);

/* A sampled allocation. */
struct alloc_taken {
	__u64 address, size, interval;
	__u32 site;
	/* [0]: rbp of the caller, [1]: where it goes on; its stack follows */
	const __u64 *frame;
};

/* draw.c: walks the stack, writes the record and adds the block to the table. */
AGENT_HIDDEN void alloc_take(struct alloc_private *a, const struct alloc_taken *taken);

/* slow_path.c: the ways in, by enum alloc_entry; entered by a jump from a stub. */
typedef __u64 original_fn(__u64 a, __u64 b, __u64 c);
AGENT_HIDDEN __u64 alloc_slow_malloc(__u64 size, __u64 b, __u64 c, original_fn *original,
				     __u32 site);
AGENT_HIDDEN __u64 alloc_slow_calloc(__u64 number, __u64 size, __u64 c, original_fn *original,
				     __u32 site);
AGENT_HIDDEN __u64 alloc_slow_realloc(__u64 block, __u64 size, __u64 c, original_fn *original,
				      __u32 site);
AGENT_HIDDEN __u64 alloc_slow_aligned(__u64 alignment, __u64 size, __u64 c, original_fn *original,
				      __u32 site);
AGENT_HIDDEN __u64 alloc_slow_posix_aligned(__u64 ret_block, __u64 alignment, __u64 size,
					    original_fn *original, __u32 site);
AGENT_HIDDEN void alloc_slow_free(__u64 block, __u64 b, __u64 c, original_fn *original);

#endif
