/*
 * The functions of Python's tables of allocators. Their hooks count what Python takes from its own
 * pools; what is larger reaches malloc and is counted there.
 */
#include "sampler/agent/alloc/slow_path.h"

__u64 alloc_slow_python_calloc(__u64 context, __u64 number, __u64 size, original_fn *original,
			       __u32 site)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, number * size), block = original(context, number, size);

	alloc_keep(a, block, number * size, interval, site, ALLOC_FRAME);
	alloc_leave(a);
	return block;
}

__u64 alloc_slow_python_realloc(__u64 context, __u64 block, __u64 size, original_fn *original,
				__u32 site, __u64 more)
{
	const struct alloc_move move = {
		.arguments = { context, block, size },
		.block = block,
		.size = size,
		.limit = more,
		.original = original,
		.site = site,
		.is_python = 1,
		.frame = ALLOC_FRAME,
	};

	return alloc_move(&move);
}

void alloc_slow_python_free(__u64 context, __u64 block, __u64 c, original_fn *original)
{
	struct alloc_private *a = alloc_enter();

	alloc_freed(a, alloc_live_remove(a, block));
	alloc_leave(a);
	original(context, block, c);
}
