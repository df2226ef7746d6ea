/*
 * The budget of one sample. A hostile target decides what a walk reads: thousands of frames, frames
 * in a circle, or memory that is slow to reach. So all parts of a walk (native frames, Python
 * frames, code objects that are sent, bytes that are copied) charge their work to one account. Its
 * unit is about 10 ns of the BPF program if nothing that is read lies in a cache. When the account
 * is empty, the walk ends with END_TOO_LONG.
 *
 * Units are only an estimate, so the BPF program grants them in slices, and checks before each
 * slice but the first whether the time of the sample is over. The first slice is enough for 2000
 * native or Python frames, or for 40 new code objects. Most samples need no second one, so they pay
 * nothing for the clock, and are not cut if the hypervisor takes the CPU away for a while.
 */
#ifndef SPROF_BUDGET_H
#define SPROF_BUDGET_H

#ifndef __VMLINUX_H__ /* the BPF program has the types already */
#include <linux/types.h>
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Prices in units. */
#define COST_STEP 2u	     /* one frame up, by a rule that is known */
#define COST_LOOKUP 20u	     /* finding a rule */
#define COST_READ 16u	     /* reading user memory, a few cache lines of it */
#define COST_FAULT 100u	     /* reading what is not there: an exception of the CPU */
#define COST_PYTHON_FRAME 2u /* besides what is read for it */
#define COST_KIB 16u	     /* copying 1 KiB into the ring */
#define COST_SYSCALL 20u     /* of agents: asking the kernel what may be read, */
#define COST_PAGE 100u	     /* and how many pages */

#define BUDGET_FIRST_SLICE 8192
#define BUDGET_SLICE 256
#define BUDGET_SLICES 256u /* ends a walk even if the clock stands still */

/* What agents, which watch no clock, may charge for a sample. */
#define BUDGET_UNITS 65536

struct walk_budget {
	__s32 left; /* units */
	__u32 nr_slices;
};

static __always_inline void budget_charge(struct walk_budget *b, __u32 units)
{
	b->left -= (__s32)units;
}

#endif
