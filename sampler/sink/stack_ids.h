/*
 * Maps the key that a walker gave a stack (a hash of its frames) to the sink's id of that stack, so
 * that a stack that repeats is interned once. Bounded: a full table is emptied and fills again.
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
/* The table may take that many bytes, about; at first 50 MB. */
void stack_ids_set_memory(struct stack_ids *keys, uint64_t bytes);
bool stack_ids_find(const struct stack_ids *keys, uint64_t key, struct known_stack *ret_stack);
void stack_ids_clear(struct stack_ids *keys);
/* key is not 0. false: the table was full and was emptied before this key was added. */
bool stack_ids_add(struct stack_ids *keys, uint64_t key, struct known_stack stack);

#endif
