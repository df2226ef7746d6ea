/*
 * From the key that the kernel side gives a stack to what the sink calls it. Bounded: when it is
 * full it is emptied, and stacks come in again.
 */
#ifndef SPROF_STACK_IDS_H
#define SPROF_STACK_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_ids;

struct known_stack {
	uint32_t stack;	    /* sink id */
	uint8_t incomplete; /* 1 + enum marker, or 0 */
};

struct stack_ids *stack_ids_new(void);
void stack_ids_free(struct stack_ids *keys);
bool stack_ids_find(const struct stack_ids *keys, uint64_t key, struct known_stack *ret_stack);
/* key is not 0. false: the table was full and has been emptied before this one went in. */
bool stack_ids_add(struct stack_ids *keys, uint64_t key, struct known_stack stack);

#endif
