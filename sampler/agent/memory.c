/*
 * Which memory of this process can be read. The kernel is asked about some pages of a stack at a
 * time, and the answer is kept as one range, [low, high) of the walk.
 *
 * process_vm_readv(2) on ourselves copies a byte of each page. Docker refuses it until version 23;
 * there each page is asked about by rt_sigprocmask(2) with an operation that does not exist, which
 * copies from the page and does nothing else. It would be the cheaper way for all, but valgrind
 * takes what it reads for an error of the program.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define PAGE 4096ull
#define NR_PROBED 16 /* pages asked about at once, */
#define NR_FIRST 4   /* and while nothing is known yet: each page costs a microsecond */
#define NO_SUCH_HOW (-1)
#define EPERM 1
#define EFAULT 14
#define ENOSYS 38

struct iovec {
	__u64 base, length;
};

int agent_is_readable(__u64 address)
{
	return agent_syscall4(__NR_rt_sigprocmask, NO_SUCH_HOW, address & ~(PAGE - 1), 0, 8) !=
	       -EFAULT;
}

static long copy_from(const struct iovec *remote, __u32 nr, const struct iovec *local)
{
	return agent_syscall6(__NR_process_vm_readv, agent_syscall0(__NR_getpid), local, 1, remote,
			      nr, 0);
}

static int is_refused(long result)
{
	return result == -EPERM || result == -ENOSYS;
}

int agent_copy(void *to, __u32 size, __u64 address, int *ret_is_refused)
{
	const struct iovec remote = { address, size }, local = { (__u64)to, size };
	long nr = copy_from(&remote, 1, &local);

	*ret_is_refused = is_refused(nr);
	return nr == size ? 0 : -1;
}

__u32 agent_readable_pages(__u64 page, __u32 nr_wanted)
{
	struct iovec remote[NR_PROBED], local;
	char bytes[NR_PROBED];
	long nr;

	if (nr_wanted > NR_PROBED)
		nr_wanted = NR_PROBED;
	for (__u32 i = 0; i < nr_wanted; i++)
		remote[i] = (struct iovec){ page + i * PAGE, 1 };
	local = (struct iovec){ (__u64)bytes, nr_wanted };
	nr = copy_from(remote, nr_wanted, &local);
	if (is_refused(nr))
		for (nr = 0; nr < nr_wanted && agent_is_readable(page + (__u64)nr * PAGE);)
			nr++;
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
	nr = agent_readable_pages(page, nr);
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
