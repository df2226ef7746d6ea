/* What the agent keeps for each thread that makes calls. Slots are reused when threads have ended. */
#ifndef SPROF_GPU_AGENT_THREAD_H
#define SPROF_GPU_AGENT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/pycode.h"
#include "core/portable/pylayout.h"
#include "core/portable/walk.h"
#include "gpu/agent/base/lane.h"

/* A frame of the last stack walked: how to see that it is still there. */
struct walked {
	uint64_t sp, fp;  /* of the frame, when its callee has returned */
	uint64_t fp_slot; /* where fp was saved, 0 = the callee left it alone */
};

/*
 * The rule at an address, as it was looked up before: most launches come from few places. And which memo was that of
 * the caller the last time: guessed to be so again, its rule can be in hand before the return address has been read.
 */
struct rule_memo {
	uint64_t key; /* the address, and in the upper bits the generation of the rows */
	struct walk_rule rule;
	uint64_t mixed; /* arena_mix() of the return address */
	uint32_t caller;
	uint32_t is_plain; /* the rule is one that walk_plainly() knows */
};
#define RULE_MEMOS 1024u

struct frames {
	uint64_t pcs[GPU_MAX_STACK];
	struct walked walked[GPU_MAX_STACK];
};

struct stack_cache {
	uint32_t nr;
	uint32_t id;
	uint8_t end;	     /* enum gpu_stack_end */
	bool unsteady;	     /* it cannot be seen whether it is still there */
	uint32_t generation; /* of the unwind rows */
	uint64_t low, high;  /* the mapping that this thread's stack is in */
	uint32_t nr_lookups; /* of that mapping */
	uint32_t leaf;	     /* memo of the last stack's first frame */
	uint64_t sum;	     /* arena_sum() of the frames */
	uint32_t in_use;     /* which of both is the last stack, the other is scratch */
	struct frames frames[2];
	struct rule_memo memos[RULE_MEMOS];
};

static inline struct frames *stack_frames(struct stack_cache *c)
{
	return &c->frames[c->in_use];
}

/* A Python frame of the last stack: how to see that it is still there. */
struct python_kept {
	uint64_t frame, code, position;
	uint64_t mark; /* of the code object */
};
#define PYTHON_KEPT 256u
#define PYTHON_PAGES 256u

struct python_stack {
	struct py_runs runs; /* first: it is how the reads come to the rest */
	struct py_layout layout;
	uint32_t generation; /* of the layout */
	uint32_t nr_kept;    /* > PYTHON_KEPT: they did not fit */
	uint64_t state;	     /* of the thread, as the interpreter has it */
	bool cut, broken;
	uint32_t nr;
	uint64_t frames[GPU_MAX_STACK]; /* the stack, merged */
	struct python_kept kept[PYTHON_KEPT];
	uint64_t pages[PYTHON_PAGES]; /* readable, by their number; 0 = none */
	struct {
		struct code_record record;
		uint8_t linetable[CODE_MAX_LINETABLE];
	} code; /* being named */
};

struct open_range {
	uint64_t start_ticks;
	uint64_t payload;
	uint32_t node;
	uint32_t name, domain; /* strings */
	uint32_t category, color;
	uint8_t payload_type;
	bool kept;     /* it began while a window of capture was open */
	bool captures; /* it is what opened that window */
};

/* What a thread counts by itself, where a counter of the region would cost a locked add. */
enum thread_count {
	THREAD_LAUNCHES,
	THREAD_WALKED,
	THREAD_CACHED,
	THREAD_SHORT,
	THREAD_CALLBACK_TICKS, /* of one call in 1024 */
	THREAD_NVTX_CALLS,
	NR_THREAD_COUNTS
};

struct thread {
	uint32_t used;	/* atomic: somebody's */
	uint32_t tid;	/* atomic; 0: nobody's, or somebody's who is about to say whose */
	uint32_t walks; /* atomic; odd while it walks its stack */
	uint64_t counts[NR_THREAD_COUNTS]; /* of all threads that had the slot */
	uint32_t generation;		   /* of the ranges: range.c's when they were pushed */
	struct lane lane;
	uint32_t depth; /* open ranges; may exceed GPU_MAX_RANGE_DEPTH */
	struct open_range ranges[GPU_MAX_RANGE_DEPTH];
	struct stack_cache stack;
	struct python_stack python;
};

/* By the thread itself; others read it (thread_publish_counts). */
static inline void thread_count(struct thread *t, enum thread_count which, uint64_t n)
{
	__atomic_store_n(&t->counts[which], t->counts[which] + n, __ATOMIC_RELAXED);
}

/* Maps the slots. 0 or -ENOMEM. */
int thread_init(void);
/* The calling thread's, made at its first call; NULL where there are too many threads. */
struct thread *thread_self(void);
/* Frees the slots of threads that are gone. One caller at a time. */
void thread_reclaim(void);
/* Brings the counters of the region up to date with those of the threads. */
void thread_publish_counts(void);
/* These begin at 0 again. */
void thread_forget_counts(void);
/*
 * Has every thread been outside its walk once since this was called? Waits for it, not for long: false where one has
 * not (it may be stopped, or have left by a jump).
 */
bool thread_walks_end(void);
/* Slot i of those ever used, or NULL beyond; its thread may be running. */
struct thread *thread_at(uint32_t i);

#endif
