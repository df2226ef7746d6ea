/*
 * The budget of one sample. What a walk reads is up to the target, and a target may be hostile: its
 * frames may be thousands, in a circle, or in memory that is slow to reach. So all parts of a walk
 * (native frames, Python frames, code objects that are sent, bytes that are copied) charge what
 * they do to one account. The account is in units, each about as much as 10 ns of the BPF program
 * if what is read lies in no cache. Where the account is empty, the walk ends with END_TOO_LONG.
 *
 * Units are only an estimate, so the BPF program grants them in slices: before each slice but the
 * first it looks whether the time of the sample is over. The first slice is enough for 2000 native
 * or Python frames, or for 40 code objects that are new. Most samples never get to a second one:
 * they pay nothing for this, and are not cut either if the hypervisor takes the CPU away for a
 * while.
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
#define COST_FAULT 100u	     /* reading what is not there: the CPU takes an exception */
#define COST_PYTHON_FRAME 2u /* beside what is read for it */
#define COST_KIB 16u	     /* copying so many bytes into the ring */
#define COST_SYSCALL 20u     /* of the agents, which ask the kernel what they may read, */
#define COST_PAGE 100u	     /* and how many pages */

#define BUDGET_FIRST_SLICE 8192
#define BUDGET_SLICE 256
#define BUDGET_SLICES 256u /* at most: ends a walk even if the clock stands still */

/* What the agents, which watch no clock, may charge for a sample. */
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
