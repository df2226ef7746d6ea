/*
 * Where the stubs jump if a counter has crossed zero or a freed block may be a sampled one. Each
 * function here is entered in place of the hooked one, with its first three arguments; `original`
 * is the way into it past the hook. While a thread is in here or below, nr_inside counts it, so
 * nothing of this is unmapped under it.
 *
 * The block of a free(3) or realloc(3) leaves the table before the original is called: right after
 * that another thread may get the same address.
 */
#include "sampler/agent/alloc/slow_path.h"

static inline struct alloc_private *enter(void)
{
	struct alloc_private *a = alloc_home();

	__atomic_fetch_add(&a->nr_inside, 1, __ATOMIC_ACQUIRE);
	return a;
}

static inline void leave(struct alloc_private *a)
{
	__atomic_fetch_sub(&a->nr_inside, 1, __ATOMIC_RELEASE);
}

#define FRAME ((const __u64 *)__builtin_frame_address(0))

static inline void take(struct alloc_private *a, __u64 address, __u64 size, __u64 interval,
			__u32 site, const __u64 *frame)
{
	const struct alloc_taken taken = { address, size, interval, site, frame };

	if (interval && address && a->magic == ALLOC_MAGIC)
		alloc_take(a, &taken);
}

__u64 alloc_slow_malloc(__u64 size, __u64 b, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = enter();
	__u64 interval = alloc_crossed(a, size), block = original(size, b, c);

	take(a, block, size, interval, site, FRAME);
	leave(a);
	return block;
}

__u64 alloc_slow_calloc(__u64 number, __u64 size, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = enter();
	__u64 interval = alloc_crossed(a, number * size), block = original(number, size, c);

	take(a, block, number * size, interval, site, FRAME);
	leave(a);
	return block;
}

__u64 alloc_slow_aligned(__u64 alignment, __u64 size, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = enter();
	__u64 interval = alloc_crossed(a, size), block = original(alignment, size, c);

	take(a, block, size, interval, site, FRAME);
	leave(a);
	return block;
}

__u64 alloc_slow_posix_aligned(__u64 ret_block, __u64 alignment, __u64 size, original_fn *original,
			       __u32 site)
{
	struct alloc_private *a = enter();
	__u64 interval = alloc_crossed(a, size), result = original(ret_block, alignment, size);

	if (!(__u32)result)
		take(a, *(const __u64 *)ret_block, size, interval, site, FRAME);
	leave(a);
	return result;
}

/* Entered if the counter has crossed zero, if the block may be a sampled one, or both. */
__u64 alloc_slow_realloc(__u64 block, __u64 size, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = enter();
	__u64 interval = 0, draw = 0, moved;

	if (__atomic_load_n(&alloc_counter_of(a)->left, __ATOMIC_RELAXED) < 0)
		interval = alloc_crossed(a, size);
	if (a->magic == ALLOC_MAGIC)
		draw = alloc_live_remove(a, block);
	moved = original(block, size, c);
	if (draw && !moved && size) /* it failed: the block is still there */
		alloc_live_add(a, block, draw);
	if (size)
		take(a, moved, size, interval, site, FRAME);
	leave(a);
	return moved;
}

/* The original is jumped to, so no thread waits for a lock of the allocator in here. */
void alloc_slow_free(__u64 block, __u64 b, __u64 c, original_fn *original)
{
	struct alloc_private *a = enter();

	if (a->magic == ALLOC_MAGIC)
		alloc_live_remove(a, block);
	leave(a);
	original(block, b, c);
}
