/*
 * What the agent keeps per thread that makes calls: its ring, its open ranges, its last stack. All
 * of it is one slot behind one thread-local pointer, so that a call finds everything with one
 * load. Slots are reused after their thread has ended.
 */
#ifndef SPROF_GPU_AGENT_THREAD_H
#define SPROF_GPU_AGENT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/budget.h"
#include "core/portable/pycode.h"
#include "core/portable/pylayout.h"
#include "core/portable/walk.h"
#include "gpu/agent/base/lane.h"

/* A frame of the last stack walked: what must be unchanged for it to be still there. */
struct walked {
	uint64_t sp, fp;  /* of the frame, after its callee has returned */
	uint64_t fp_slot; /* where the callee saved fp, 0 = nowhere */
};

/*
 * A cached unwind rule: most launches come from few places. `caller` is the memo that the caller's
 * frame used last time; it is the guess for this time, so its rule is loaded before the return
 * address is known.
 */
struct rule_memo {
	uint64_t key; /* the address; the upper 16 bits are the generation of the rows */
	struct walk_rule rule;
	uint64_t mixed; /* arena_mix() of the return address */
	uint32_t caller;
	uint32_t is_plain; /* a rule that walk_plainly() handles */
};
#define RULE_MEMOS 1024u

struct frames {
	uint64_t pcs[GPU_MAX_STACK];
	struct walked walked[GPU_MAX_STACK];
};

struct stack_cache {
	uint32_t nr;
	uint32_t id;
	uint8_t end;	     /* enum walk_end */
	bool unsteady;	     /* the next launch cannot tell whether it is still there */
	uint32_t generation; /* of the unwind rows */
	uint64_t low, high;  /* the mapping that this thread's stack is in */
	uint32_t nr_lookups; /* how often that mapping was looked up */
	uint32_t leaf;	     /* memo of the last stack's first frame */
	uint64_t sum;	     /* arena_sum() of the frames */
	uint32_t in_use;     /* index in frames[] of the last stack; the other is scratch */
	struct frames frames[2];
	struct rule_memo memos[RULE_MEMOS];
};

static inline struct frames *stack_frames(struct stack_cache *c)
{
	return &c->frames[c->in_use];
}

/* A Python frame of the last stack: what must be unchanged for it to be still there. */
struct python_kept {
	uint64_t frame, code, position;
	uint64_t mark; /* mark_of() the code object */
};
#define PYTHON_KEPT 256u
#define PYTHON_PAGES 256u

struct python_stack {
	struct py_runs runs; /* first: py_read() gets the struct from it */
	struct py_layout layout;
	struct walk_budget budget; /* of the stack that is being made */
	uint32_t generation;	   /* of the layout */
	uint32_t nr_kept;	   /* > PYTHON_KEPT: they do not all fit */
	uint64_t state;		   /* address of the interpreter's thread state */
	bool cut, broken;
	uint32_t nr;
	uint64_t frames[GPU_MAX_STACK]; /* the merged stack */
	struct python_kept kept[PYTHON_KEPT];
	uint64_t pages[PYTHON_PAGES]; /* page numbers known to be readable; 0 = free */
	struct {
		struct code_record record;
		uint8_t linetable[CODE_MAX_LINETABLE];
	} code; /* the code object whose string is being made */
};

struct open_range {
	uint64_t start_ticks;
	uint64_t payload;
	uint32_t node;
	uint32_t name, domain; /* strings */
	uint32_t category, color;
	uint8_t payload_type;
	bool kept;     /* it began inside a capture window */
	bool captures; /* it opened that window */
};

/* The call of a mathematical library that a thread is in. */
struct flops_now {
	uintptr_t frame;   /* of the outermost such call; 0: in none */
	uint32_t entry;	   /* in gpu_region.flops; 0: none, or in none */
	uint32_t nr_nodes; /* of CUDA graphs, that the call has made */
	uint64_t first_node;
};

/* Counted per thread, as a counter of the region would cost a locked add. */
enum thread_count {
	THREAD_LAUNCHES,
	THREAD_WALKED,
	THREAD_CACHED,
	THREAD_SHORT,
	THREAD_CALLBACK_TICKS, /* sampled: one call in 1024 */
	THREAD_NVTX_CALLS,
	THREAD_CALLS,	   /* callbacks, while a governor is at work */
	THREAD_COST_TICKS, /* in them: one in 16 is measured */
	NR_THREAD_COUNTS
};

struct thread {
	uint32_t used;			   /* atomic: the slot is taken */
	uint32_t tid;			   /* atomic; 0: free, or taken and not set up yet */
	uint32_t walks;			   /* atomic; odd while the thread walks its stack */
	uint32_t in_launch;		   /* atomic: cupti/launch_gate.c */
	uint64_t counts[NR_THREAD_COUNTS]; /* of all threads that ever had the slot */
	uint32_t generation; /* of the collection in which the ranges were pushed: range.c */
	struct lane lane;
	/* correlation id of the function of the runtime API that the thread is in, 0 = none */
	uint32_t runtime_call;
	bool captures;	    /* a stream, into a graph */
	uint32_t ends_seen; /* nr_foreign_ends of cupti/api_calls.c, as it was then */
	/* of a CUDA graph: made in the call of the driver that the thread is in; 0 = none */
	uint64_t new_node;
	struct flops_now flops;
	uint32_t depth; /* open ranges; may exceed GPU_MAX_RANGE_DEPTH */
	struct open_range ranges[GPU_MAX_RANGE_DEPTH];
	struct stack_cache stack;
	struct python_stack python;
};

/* Called by the thread itself; thread_publish_counts() reads it from another one. */
static inline void thread_count(struct thread *t, enum thread_count which, uint64_t n)
{
	__atomic_store_n(&t->counts[which], t->counts[which] + n, __ATOMIC_RELAXED);
}

/* Maps the slots. 0 or -ENOMEM. */
int thread_init(void);
/* The calling thread's slot, taken at its first call. NULL: too many threads. */
struct thread *thread_self(void);
/* Frees the slots of threads that have ended. One caller at a time. */
void thread_reclaim(void);
/* The number of calls so far that wanted a stack, of all threads. */
uint64_t thread_nr_launches(void);
/* Sums the threads' counts into the counters of the region. */
void thread_publish_counts(void);
/* For the next recorder: the published counts start at 0 again. */
void thread_forget_counts(void);
/*
 * Waits until every thread has been outside its walk once since this was called. False for a thread
 * that did not get there within 50 ms: it may be stopped, or have left its walk by longjmp().
 */
bool thread_walks_end(void);
/* Slot i, or NULL beyond those ever used. Its thread may be running. */
struct thread *thread_at(uint32_t i);

#endif
