/*
 * From the key that the kernel side gives a stack to what the sink calls it. Bounded: when it is
 * full it is emptied, and stacks come in again.
 */
#ifndef SPROF_STACK_IDS_H
#define SPROF_STACK_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_keys;

struct known_stack {
	uint32_t stack;	    /* sink id */
	uint8_t incomplete; /* 1 + enum marker, or 0 */
};

struct stack_keys *stack_keys_new(void);
void stack_keys_free(struct stack_keys *keys);
bool stack_keys_find(const struct stack_keys *keys, uint64_t key, struct known_stack *ret_stack);
/* key is not 0. false: the table was full and has been emptied before this one went in. */
bool stack_keys_add(struct stack_keys *keys, uint64_t key, struct known_stack stack);

#endif
