/*
 * operator new of an allocator that has its own. It throws if there is no memory, and an exception
 * cannot pass through a frame of ours. So a sampled block comes from the allocator's malloc instead
 * (`more`), which operator delete frees as well; if that has none either, operator new is jumped to
 * once nothing of ours is on the stack.
 */
#include "sampler/agent/alloc/slow_path.h"

/* 0: this allocation is not sampled, or there is no memory: operator new is to be called. */
static __u64 sample(__u64 size, original_fn *more, __u64 first, __u64 second, __u64 third,
		    __u32 site, const __u64 *frame)
{
	struct alloc_private *a = alloc_enter();
	__u64 interval = alloc_crossed(a, size), block = 0;

	if (interval)
		block = more(first, second, third);
	alloc_keep(a, block, size, interval, site, frame);
	alloc_leave(a);
	return block;
}

__u64 alloc_slow_new(__u64 size, __u64 b, __u64 c, original_fn *original, __u32 site, __u64 more)
{
	__u64 block = sample(size, (original_fn *)more, size, b, c, site, ALLOC_FRAME);

	return block ? block : original(size, b, c);
}

__u64 alloc_slow_new_aligned(__u64 size, __u64 alignment, __u64 c, original_fn *original,
			     __u32 site, __u64 more)
{
	__u64 block = sample(size, (original_fn *)more, alignment, size, c, site, ALLOC_FRAME);

	return block ? block : original(size, alignment, c);
}
