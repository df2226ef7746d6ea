/*
 * Builds a stack of the sink, root first, from pieces of the region: a launch, its ranges, more
 * frames.
 */
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
 * Pushes the frames of a launch. An incomplete stack gets a marker at its root; stack 0 is the
 * marker alone, and above it are the frames of a graph's node whose launch is not known.
 */
void stack_builder_launch(struct stack_builder *b, uint32_t stack);
/* Pushes a range and those around it, outermost first. */
void stack_builder_ranges(struct stack_builder *b, uint32_t range);
/* Returns the sink's id of the stack. */
uint32_t stack_builder_finish(struct stack_builder *b);
void stack_builder_fini(struct stack_builder *b);

#endif
