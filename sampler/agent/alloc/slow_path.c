/*
 * Where the stubs jump if a counter has crossed zero or a freed block may be a sampled one. Each
 * function here is entered in place of the hooked one, with its first three arguments; `original`
 * is the way into it past the hook.
 *
 * The block of a free(3) or realloc(3) leaves the table before the original is called: right after
 * that another thread may get the same address.
 */
#include "sampler/agent/alloc/slow_path.h"

__u64 alloc_slow_malloc(__u64 size, __u64 b, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, size), block = original(size, b, c);

	alloc_keep(a, block, size, interval, site, ALLOC_FRAME);
	alloc_leave(a);
	return block;
}

__u64 alloc_slow_calloc(__u64 number, __u64 size, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, number * size), block = original(number, size, c);

	alloc_keep(a, block, number * size, interval, site, ALLOC_FRAME);
	alloc_leave(a);
	return block;
}

__u64 alloc_slow_aligned(__u64 alignment, __u64 size, __u64 c, original_fn *original, __u32 site)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, size), block = original(alignment, size, c);

	alloc_keep(a, block, size, interval, site, ALLOC_FRAME);
	alloc_leave(a);
	return block;
}

__u64 alloc_slow_posix_aligned(__u64 ret_block, __u64 alignment, __u64 size, original_fn *original,
			       __u32 site)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, size), result = original(ret_block, alignment, size);

	if (!(__u32)result)
		alloc_keep(a, *(const __u64 *)ret_block, size, interval, site, ALLOC_FRAME);
	alloc_leave(a);
	return result;
}

/* Moves the block on from Python's pools. Returns whether there was memory for that. */
static int move_to_malloc(struct alloc_private *a, const struct alloc_move *m, __u64 *block)
{
	const __u64 arguments[3] = { m->arguments[0], *block, m->limit + 1 };
	__u64 moved = alloc_uncounted(a, m->original, arguments, m->limit + 1);

	if (!moved)
		return 0;
	*block = moved;
	return 1;
}

/*
 * A block that did not come from Python's pools is handed on to realloc(3), which is hooked itself
 * and then has counted the bytes a second time: as its own.
 */
__u64 alloc_move(const struct alloc_move *m)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = m->size <= m->limit ? alloc_crossed_too(a, m->size) : 0, draw, moved;
	const struct alloc_counter *counter = alloc_counter_of(a);
	__s64 left = __atomic_load_n(&counter->left, __ATOMIC_RELAXED);

	draw = alloc_live_remove(a, m->block);
	moved = m->original(m->arguments[0], m->arguments[1], m->arguments[2]);
	if (draw && !moved && (m->size || m->is_python)) /* it failed: the block is still there */
		alloc_live_add(a, m->block, draw, draw);
	else
		alloc_freed(a, draw);
	if (m->is_python && left != __atomic_load_n(&counter->left, __ATOMIC_RELAXED))
		interval = 0;
	if (interval && moved && m->by_malloc)
		interval = move_to_malloc(a, m, &moved) ? interval : 0;
	if (m->size || m->is_python)
		alloc_keep(a, moved, m->size, interval, m->site, m->frame);
	alloc_leave(a);
	return moved;
}

__u64 alloc_slow_realloc(__u64 block, __u64 size, __u64 c, original_fn *original, __u32 site)
{
	const struct alloc_move move = {
		.arguments = { block, size, c },
		.block = block,
		.size = size,
		.limit = ~0ull,
		.original = original,
		.site = site,
		.frame = ALLOC_FRAME,
	};

	return alloc_move(&move);
}

/* The original is jumped to, so no thread waits for a lock of the allocator in here. */
void alloc_slow_free(__u64 block, __u64 b, __u64 c, original_fn *original)
{
	struct alloc_private *a = alloc_enter();

	alloc_freed(a, alloc_live_remove(a, block));
	alloc_leave(a);
	original(block, b, c);
}
