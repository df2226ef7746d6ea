/*
 * Which memory of this process can be read. The kernel is asked for some pages at a time
 * (process_vm_readv(2) on ourselves copies a byte of each), and the answer is kept as one range,
 * [low, high) of the walk.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define PAGE 4096ull
#define NR_PROBED 16 /* pages asked about at once, */
#define NR_FIRST 4   /* and while nothing is known yet: each page costs a microsecond */

struct iovec {
	__u64 base, length;
};

/* How many of `nr_wanted` pages from `page` on can be read. */
static __u32 probe(__u64 page, __u32 nr_wanted)
{
	struct iovec remote[NR_PROBED], local;
	char bytes[NR_PROBED];
	long nr;

	for (__u32 i = 0; i < nr_wanted; i++)
		remote[i] = (struct iovec){ page + i * PAGE, 1 };
	local = (struct iovec){ (__u64)bytes, nr_wanted };
	nr = agent_syscall6(__NR_process_vm_readv, agent_syscall0(__NR_getpid), &local, 1, remote,
			    nr_wanted, 0);
	return nr > 0 ? (__u32)nr : 0;
}

int agent_extend_readable(struct agent_walk *w, __u64 address)
{
	__u64 page = address & ~(PAGE - 1);
	__u32 nr;

	if (address >= WALK_USER_END - NR_PROBED * PAGE)
		return -1;
	nr = w->low == w->high ? NR_FIRST : NR_PROBED;
	budget_charge(&w->budget, nr * COST_PAGE);
	nr = probe(page, nr);
	if (!nr)
		return -1;
	if (page > w->high || page + nr * PAGE < w->low || w->low == w->high) {
		w->low = page;
		w->high = page + nr * PAGE;
		return 0;
	}
	if (page < w->low)
		w->low = page;
	if (page + nr * PAGE > w->high)
		w->high = page + nr * PAGE;
	return 0;
}

__u64 agent_readable(struct agent_walk *w, __u64 address, __u64 max)
{
	if ((address < w->low || address >= w->high) && agent_extend_readable(w, address))
		return 0;
	while (address + max > w->high && !agent_extend_readable(w, w->high))
		;
	return w->high - address < max ? w->high - address : max;
}
