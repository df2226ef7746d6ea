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
/*
 * For blocks that are chosen one by one, without a counter: the mean by which this one is chosen,
 * or 0: it is not. A mean of 1 chooses every block; it is at least `least`.
 */
AGENT_HIDDEN __u64 alloc_chosen_alone(struct alloc_private *a, __u64 size, __u64 least);
AGENT_HIDDEN __u64 alloc_now_ns(void);

/* live_table.c */

/*
 * Puts a sampled block into the table and the filter. Draws after `since` were made by what the
 * hooked function has called: such a block is that of this draw.
 */
AGENT_HIDDEN void alloc_live_add(struct alloc_private *a, __u64 address, __u64 draw, __u64 since);
/*
 * Takes the block out. Returns the number of its draw, or 0: it was not in the table, or this is a
 * forked child, which has none.
 */
AGENT_HIDDEN __u64 alloc_live_remove(struct alloc_private *a, __u64 address);

/* A sampled allocation. */
struct alloc_taken {
	__u64 address, size, interval;
	__u32 site;
	/* [0]: rbp of the caller, [1]: where it goes on; its stack follows */
	const __u64 *frame;
	__u16 type; /* enum alloc_record */
};

/* draw.c */

/* Walks the stack, writes the record and adds the block to the table. */
AGENT_HIDDEN void alloc_take(struct alloc_private *a, const struct alloc_taken *taken);
/*
 * The same if there is a block and an interval that chose it. A function of its own: the address of
 * a local variable would keep its callers from ending in a jump.
 */
AGENT_HIDDEN void alloc_keep(struct alloc_private *a, __u64 address, __u64 size, __u64 interval,
			     __u32 site, const __u64 *frame);
/* Writes that the block of this draw, which has left the table, is freed; 0: none was. */
AGENT_HIDDEN void alloc_freed(struct alloc_private *a, __u64 draw);

/*
 * slow_path.c, slow_new.c, slow_python.c and slow_tensor.c: the ways in, by enum alloc_entry;
 * entered by a jump from a stub. `more` is what the stub's kind says: of operator new the function
 * that allocates in its place; see ALLOC_PYTHON_BY_MALLOC.
 */
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
AGENT_HIDDEN __u64 alloc_slow_new(__u64 size, __u64 b, __u64 c, original_fn *original, __u32 site,
				  __u64 more);
AGENT_HIDDEN __u64 alloc_slow_new_aligned(__u64 size, __u64 alignment, __u64 c,
					  original_fn *original, __u32 site, __u64 more);
AGENT_HIDDEN __u64 alloc_slow_python_malloc(__u64 context, __u64 size, __u64 c,
					    original_fn *original, __u32 site, __u64 more);
AGENT_HIDDEN __u64 alloc_slow_python_calloc(__u64 context, __u64 number, __u64 size,
					    original_fn *original, __u32 site, __u64 more);
AGENT_HIDDEN __u64 alloc_slow_python_realloc(__u64 context, __u64 block, __u64 size,
					     original_fn *original, __u32 site, __u64 more);
AGENT_HIDDEN void alloc_slow_python_free(__u64 context, __u64 block, __u64 c,
					 original_fn *original);
typedef void tensor_fn(__u64 block, __s64 size, __u64 allocated, __u64 reserved, __u64 device);
typedef void short_tensor_fn(__u64 block, __s64 size, __u64 device);
AGENT_HIDDEN void alloc_slow_tensor(__u64 block, __s64 size, __u64 allocated, __u64 reserved,
				    __u64 device, tensor_fn *original);
AGENT_HIDDEN void alloc_slow_tensor_short(__u64 block, __s64 size, __u64 device, __u64 unused_3,
					  __u64 unused_4, short_tensor_fn *original);

/* What all of them do. nr_inside counts the threads in here, so nothing is unmapped under them. */
static inline struct alloc_private *alloc_enter(void)
{
	struct alloc_private *a = alloc_home();

	__atomic_fetch_add(&a->nr_inside, 1, __ATOMIC_ACQUIRE);
	return a;
}

static inline void alloc_leave(struct alloc_private *a)
{
	__atomic_fetch_sub(&a->nr_inside, 1, __ATOMIC_RELEASE);
}

/* A call of a function that moves a block: realloc(3), or that of a table of Python's. */
struct alloc_move {
	__u64 arguments[3], block, size;
	__u64 limit; /* sizes above it are not counted */
	original_fn *original;
	__u32 site;
	int is_python;	    /* a size of 0 does not free the block */
	int by_malloc;	    /* as ALLOC_PYTHON_BY_MALLOC says */
	const __u64 *frame; /* as of struct alloc_taken */
};

/* slow_path.c */
AGENT_HIDDEN __u64 alloc_move(const struct alloc_move *move);

/*
 * countdown.c: calls a function that will ask a hooked one for that many bytes, of which no sample
 * is taken there.
 */
AGENT_HIDDEN __u64 alloc_uncounted(struct alloc_private *a, original_fn *original,
				   const __u64 *arguments, __u64 size);

#define ALLOC_FRAME ((const __u64 *)__builtin_frame_address(0))

/* realloc(3) is entered if the counter has crossed zero, if the block may be sampled, or both. */
static inline __u64 alloc_crossed_too(struct alloc_private *a, __u64 size)
{
	if (__atomic_load_n(&alloc_counter_of(a)->left, __ATOMIC_RELAXED) >= 0)
		return 0;
	return alloc_crossed(a, size);
}

#endif
