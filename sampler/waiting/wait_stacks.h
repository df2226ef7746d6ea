/*
 * The frames of stacks of waits and of wakers, by the walker's keys, so that a wait can be shown
 * with what it was for and with the waker's stack on top; and the last waits of each thread, so
 * that what the waker itself had waited for can follow. Bounded.
 */
#ifndef SPROF_WAIT_STACKS_H
#define SPROF_WAIT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/sink/stack_ids.h"

struct sample_sink;
struct wait_stacks;

struct wait_stack {
	const uint32_t *frames; /* the sink's, root first; the last one of a wait is its reason */
	uint32_t nr;
	uint8_t reason;	    /* enum wait_reason; of a waker 0 */
	uint8_t incomplete; /* as in struct known_stack */
	bool interrupt;	    /* the stack of a waker is that of an interrupt */
};

/* A wait that has ended, and what ended it. */
struct wait_link {
	uint64_t key;	    /* of its stack; 0: it cannot be shown in a chain */
	uint64_t waker_key; /* 0: without a stack */
	uint32_t object;    /* the sink's frame; PROFILE_NONE: not known */
	uint32_t waker;	    /* the sink's frame; PROFILE_NONE: not known */
};
_Static_assert(sizeof(struct wait_link) == 24, "no holes: links are hashed");

#define MAX_WAIT_LINKS 5

/* A wait of a thread, then that of the thread that ended it, and so on. */
struct wait_chain {
	uint64_t woken_ns; /* when the first of them was ended */
	uint32_t nr;
	struct wait_link links[MAX_WAIT_LINKS];
};

/* What goes on top of a wait's stack. */
struct wait_top {
	const char *object;		 /* NULL: not known */
	const char *waker;		 /* its name; NULL: not known */
	uint64_t waker_key;		 /* 0: without a stack */
	const struct wait_stack *stack;	 /* of the waker; NULL: none */
	const struct wait_chain *before; /* the waker's own last wait; NULL: not known */
};

struct wait_stacks *wait_stacks_new(void);
void wait_stacks_free(struct wait_stacks *stacks);
/* A segment begins: with `forget`, the sink's ids are void. */
void wait_stacks_turn(struct wait_stacks *stacks, bool forget);
/* Copies the frames. false: the table was full and was emptied before this stack was added. */
bool wait_stacks_add(struct wait_stacks *stacks, uint64_t key, const struct wait_stack *stack);
/* NULL: not there. Valid until the next stack is added. */
const struct wait_stack *wait_stacks_find(const struct wait_stacks *stacks, uint64_t key);

/*
 * The sink's stack of that wait with the top on it. `key` is the stack's, or 0: it is not to be
 * remembered. *ret_link is this wait as a link in chains.
 */
struct known_stack wait_stacks_join(struct wait_stacks *stacks, struct sample_sink *out,
				    uint64_t key, const struct wait_stack *wait,
				    const struct wait_top *top, struct wait_link *ret_link);

/* A wait of the thread was ended at woken_ns. `before`: as in struct wait_top. */
void wait_stacks_ended(struct wait_stacks *stacks, uint32_t tid, uint64_t woken_ns,
		       const struct wait_link *link, const struct wait_chain *before);
/*
 * The last known wait of the thread that was ended after `from_ns` and before `to_ns`; NULL: none.
 * Valid until the next call of wait_stacks_ended().
 */
const struct wait_chain *wait_stacks_last(const struct wait_stacks *stacks, uint32_t tid,
					  uint64_t from_ns, uint64_t to_ns);

#endif
