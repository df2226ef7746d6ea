/*
 * The frames of stacks of waits and of wakers, by the walker's keys, so that a wait can be shown
 * with what it was for and with the waker's stack on top. Bounded.
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

/* What goes on top of a wait's stack. */
struct wait_top {
	const char *object;		/* NULL: not known */
	const char *waker;		/* its name; NULL: not known */
	uint64_t waker_key;		/* 0: without a stack */
	const struct wait_stack *stack; /* of the waker; NULL: none */
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
 * remembered.
 */
struct known_stack wait_stacks_join(struct wait_stacks *stacks, struct sample_sink *out,
				    uint64_t key, const struct wait_stack *wait,
				    const struct wait_top *top);

#endif
