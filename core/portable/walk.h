/*
 * The tables by which a stack is walked, and the lookup in them: the same code in the BPF program,
 * inside a target, and in the host. No libc, no allocation, no host headers.
 *
 * The .eh_frame of an ELF file is compiled once into an unwind table:
 *
 *   rule   what to do at a pc: how to find the CFA (the caller's sp) and the caller's frame
 *	    pointer. 8 bytes; a few thousand distinct ones serve all programs of a machine, so a row
 *	    names its rule by a 16-bit number. The return address is at CFA - 8 on x86-64.
 *   row    one 32-bit word: (pc low 10 bits) << 16 | rule number. Valid up to the next row.
 *   page   1 KiB of text. One 32-bit word each: either WALK_ONE_RULE | rule number (no row
 *	    starts inside the page), or the index of the page's run of rows.
 *   run    word 0: number of words in the run << 16 | rule at the page's start (low pc 0), then
 *	    the rows of the page, ascending. A run never crosses an arena shard.
 *
 * So a lookup is: page = (vaddr - base) >> 10, one load, a binary search over a handful of words.
 * A row takes 4 bytes; 27M rows/s are built.
 */
#ifndef SPROF_WALK_H
#define SPROF_WALK_H

#ifndef __VMLINUX_H__ /* the BPF program has the types already */
#include <linux/types.h>
#endif

#include "core/portable/walk_x86_64.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define WALK_PAGE_SHIFT 10
#define WALK_PAGE_SIZE (1u << WALK_PAGE_SHIFT)
#define WALK_ONE_RULE 0x80000000u /* page word: the low 16 bits are the rule of the whole page */
#define WALK_MAX_RULES 65535u
#define WALK_NR_RULES (WALK_MAX_RULES + 1) /* size of a table of rules */
#define WALK_MAX_RUN 1024u /* words in a run, header included (one row per byte at the worst) */

#define WALK_MAX_MODULES 16384u
#define WALK_MAX_RUNTIME_TABLES 4096u /* tables of runtime code; numbered behind the modules */
#define WALK_MAX_MAPS 8192u	      /* executable mappings of one process */

/* How the CFA is found. */
enum walk_cfa {
	WALK_CFA_NONE = 0,     /* no rule here: use the frame pointer if it looks like one */
	WALK_CFA_END = 1,      /* the outermost frame: the return address is undefined */
	WALK_CFA_SP = 2,       /* sp + cfa_off */
	WALK_CFA_FP = 3,       /* fp (rbp) + cfa_off */
	WALK_CFA_SP_DEREF = 4, /* *(sp + low16(cfa_off)) + high16(cfa_off), both signed */
	WALK_CFA_FP_DEREF = 5, /* *(fp + low16(cfa_off)) + high16(cfa_off), both signed */
	WALK_CFA_PLT = 6,      /* sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0) */
	WALK_CFA_SIGNAL = 7,   /* rt_sigreturn trampoline: registers are in the ucontext at sp */
	WALK_CFA_REG = 8,      /* DWARF register low8(cfa_off) + (cfa_off >> 8); leaf frames only */
	WALK_CFA_UNSUPPORTED = 9, /* a DWARF expression that is not compiled: needs libunwind */
	/*
	 * More rules for leaves; like REG also above them, where the register survives calls
	 * (walk_step.h):
	 */
	WALK_CFA_RA_REG = 10, /* sp + (cfa_off >> 8); return address in register low8(cfa_off) */
	WALK_CFA_SP_INDEX_DEREF =
		11, /* *(sp + 8 * register low8 + high16) + bits 8..15 of cfa_off */
	/* The file or its user has used up a share of the tables. */
	WALK_CFA_OVER_LIMIT = 12,
	/*
	 * fp + 16, on another stack: the function has switched sp, but fp still points into the
	 * stack where it was called, to the saved fp below the return address.
	 */
	WALK_CFA_OTHER_STACK = 13,
};

/* How the caller's frame pointer is found. */
enum walk_fp {
	WALK_FP_SAME = 0,  /* unchanged */
	WALK_FP_CFA = 1,   /* *(cfa + fp_off) */
	WALK_FP_FP = 2,	   /* *(fp + fp_off), fp before the step (DRAP frames) */
	WALK_FP_UNDEF = 3, /* lost; no frame further up may rely on it */
};

struct walk_rule {
	__u8 cfa; /* enum walk_cfa */
	__u8 fp;  /* enum walk_fp */
	__s16 fp_off;
	__s32 cfa_off;
};
_Static_assert(sizeof(struct walk_rule) == 8, "rules are 8 bytes in every home");

/* Fixed rule numbers; a table's own rules start at WALK_FIRST_RULE. */
#define WALK_RULE_NONE 0u
#define WALK_RULE_END 1u
#define WALK_RULE_OVER_LIMIT 2u
#define WALK_FIRST_RULE 3u

struct walk_regs {
	__u64 pc; /* exact for the leaf; a return address further up unless `exact` */
	__u64 sp, fp;
	/* pc is where execution stopped: in the leaf, or in a frame that a signal interrupted */
	__u32 exact;
	__u32 leaf_regs;	 /* gpr[] is valid: leaf, or just after a signal frame */
	__u64 gpr[WALK_NR_REGS]; /* by DWARF register number */
};

enum walk_status {
	WALK_OK = 0,	  /* one frame up: regs are the caller's */
	WALK_END = 1,	  /* the root was reached */
	WALK_NO_RULE = 2, /* no rule says how to go on */
	WALK_READ_FAULT = 3,
	WALK_BAD_STACK = 4,  /* sp did not grow */
	WALK_NEED_DWARF = 5, /* WALK_CFA_UNSUPPORTED */
	WALK_OVER_LIMIT = 6, /* WALK_CFA_OVER_LIMIT */
	WALK_TOO_LONG = 7,   /* the time that the walk may take is over */
};

enum walk_module_state {
	WALK_MODULE_PENDING = 0, /* its rows are being built: the host unwinds a snapshot */
	WALK_MODULE_ROWS = 1,
	WALK_MODULE_NO_ROWS = 2,    /* runtime code, or no .eh_frame: frame pointers */
	WALK_MODULE_OVER_LIMIT = 3, /* its rule is WALK_RULE_OVER_LIMIT everywhere */
	/* Its rows do not fit into the recorder's memory: the host unwinds snapshots. */
	WALK_MODULE_COPIED = 4,
};

static __always_inline __u32 walk_row_rule(__u32 word)
{
	return word & 0xffff;
}

/*
 * Binary search in a run of `nr` words starting at words[first]; every index is masked with
 * index_mask (arena size - 1 in BPF, where the verifier must see the bound; ~0 on the host).
 * Returns the rule in force at the page offset `low`.
 */
static __always_inline __u32 walk_search_run(const __u32 *words, __u32 first, __u32 nr, __u32 low,
					     __u32 index_mask)
{
	__u32 lo = 0, hi = nr; /* words[lo] is in force, words[hi] is beyond; word 0 starts at 0 */

	for (int i = 0; i < 11; i++) {
		__u32 mid, word, below;

		if (hi - lo <= 1)
			break;
		mid = (lo + hi) >> 1;
		word = words[(first + mid) & index_mask];
		/*
		 * 1 if the row begins at or before `low`, else 0. A branch here would be
		 * mispredicted half of the time, and the BPF verifier would follow both ways.
		 */
		below = ((word >> 16) - low - 1) >> 31;
		__asm__("" : "+r"(below)); /* or compilers would make a branch of it */
		lo += (mid - lo) * below;
		hi = mid + (hi - mid) * below;
	}
	return walk_row_rule(words[(first + lo) & index_mask]);
}

#endif
