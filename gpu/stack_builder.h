/* Puts a stack of the sink together, root first, from pieces that lie in the region. */
#ifndef SPROF_STACK_BUILDER_H
#define SPROF_STACK_BUILDER_H

#include <stddef.h>
#include <stdint.h>

struct names;

struct stack_builder {
	struct names *names;
	uint32_t *frames;
	size_t nr, capacity;
};

void stack_builder_start(struct stack_builder *b);
void stack_builder_push(struct stack_builder *b, uint32_t frame);
/*
 * The frames of a launch. Where the walk ended early a marker stands at the root; stack 0 is the
 * marker alone.
 */
void stack_builder_launch(struct stack_builder *b, uint32_t stack);
/* The ranges around it, outermost first. */
void stack_builder_ranges(struct stack_builder *b, uint32_t range);
uint32_t stack_builder_finish(struct stack_builder *b);
void stack_builder_fini(struct stack_builder *b);

#endif
