/*
 * The result of a walk, whether it runs in the kernel, inside a target or in the host: the words
 * that stand for frames, how many of them a stack holds, and why the walk ended.
 */
#ifndef SPROF_FRAMES_H
#define SPROF_FRAMES_H

#include "core/portable/walk.h"

/* User addresses leave bit 63 free: set = the pc itself, clear = a return address. */
#define FRAME_EXACT (1ull << 63)

#define MAX_KERNEL_FRAMES 127
/* User frames that a stack holds: those at the leaf in order, then a ring of the last ones. */
#define MAX_LEAF_FRAMES 3072
#define MAX_ROOT_FRAMES 1024 /* power of two */
#define MAX_USER_FRAMES (MAX_LEAF_FRAMES + MAX_ROOT_FRAMES)
#define MAX_JOINED_FRAMES 64 /* power of two; of the root end, from an earlier walk */
#define MAX_STEPS 8192	     /* frames walked */

#define COMM_SIZE 16 /* bytes of a thread's name, filled with NUL */

/* Why a walk ended. The values are also in the rings of targets: explicit, append only. */
enum walk_end {
	END_ROOT = 0,
	END_NO_MAP = 1, /* the pc lies in no known mapping */
	END_NO_RULE = 2,
	END_READ_FAULT = 3,
	END_BAD_STACK = 4,
	END_TOO_DEEP = 5,
	END_COMPAT = 6,	 /* a 32-bit program: not walked */
	END_PENDING = 7, /* the module's rows are not ready */
	END_NEED_DWARF = 8,
	END_STALE = 9,	     /* the mappings have changed since the tables were written */
	END_NO_USER = 10,    /* kernel thread: nothing to walk */
	END_TOO_LONG = 11,   /* the sample's budget was spent (budget.h) */
	END_OVER_LIMIT = 12, /* the tables have no room for this file's rows (limits.h) */
	END_NO_TABLE = 13,   /* the process has no table of mappings yet */
	END_COPIED = 14,     /* rows do not fit into the recorder's memory: stacks are copied */
};

/* Returns the end of a walk by the status of its last step; WALK_OK: the walk ran out of room. */
static __always_inline enum walk_end walk_end_of(enum walk_status status)
{
	switch (status) {
	case WALK_OK: return END_TOO_DEEP;
	case WALK_END: return END_ROOT;
	case WALK_NO_RULE: return END_NO_RULE;
	case WALK_READ_FAULT: return END_READ_FAULT;
	case WALK_BAD_STACK: return END_BAD_STACK;
	case WALK_OVER_LIMIT: return END_OVER_LIMIT;
	case WALK_TOO_LONG: return END_TOO_LONG;
	default: return END_NEED_DWARF;
	}
}

#endif
