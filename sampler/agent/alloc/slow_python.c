/*
 * The functions of Python's tables of allocators. Their hooks count what Python takes from its own
 * pools; what is larger reaches malloc and is counted there.
 *
 * Wherever CPython uses a table, compilers that know profiles put the function of the pools in
 * line, behind a check that the table still holds it. So a hook turns code in line into a call by
 * address, which costs a program several times what the hook does. Of free it is avoided: a block
 * that is sampled is asked for as one that is larger than the pools have. It comes from malloc(3)
 * then, and Python hands it to free(3) or realloc(3), where a hook sees its end.
 */
#include "sampler/agent/alloc/slow_path.h"

/* A sampled block is `larger`, if there is memory for that, or else it is no sample. */
static __u64 allocate(struct alloc_private *a, original_fn *original, const __u64 *arguments,
		      const __u64 *larger, __u64 more, __u64 *interval)
{
	__u64 block = 0;

	if (*interval && more & ALLOC_PYTHON_BY_MALLOC) {
		block = alloc_uncounted(a, original, larger, (more & ~ALLOC_PYTHON_BY_MALLOC) + 1);
		*interval = block ? *interval : 0;
	}
	return block ? block : original(arguments[0], arguments[1], arguments[2]);
}

__u64 alloc_slow_python_malloc(__u64 context, __u64 size, __u64 c, original_fn *original,
			       __u32 site, __u64 more)
{
	const __u64 arguments[3] = { context, size, c };
	const __u64 larger[3] = { context, (more & ~ALLOC_PYTHON_BY_MALLOC) + 1, c };
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, size);
	__u64 block = allocate(a, original, arguments, larger, more, &interval);

	alloc_keep(a, block, size, interval, site, ALLOC_FRAME);
	alloc_leave(a);
	return block;
}

__u64 alloc_slow_python_calloc(__u64 context, __u64 number, __u64 size, original_fn *original,
			       __u32 site, __u64 more)
{
	const __u64 arguments[3] = { context, number, size };
	const __u64 larger[3] = { context, 1, (more & ~ALLOC_PYTHON_BY_MALLOC) + 1 };
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, number * size);
	__u64 block = allocate(a, original, arguments, larger, more, &interval);

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
		.limit = more & ~ALLOC_PYTHON_BY_MALLOC,
		.original = original,
		.site = site,
		.is_python = 1,
		.by_malloc = (more & ALLOC_PYTHON_BY_MALLOC) != 0,
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
