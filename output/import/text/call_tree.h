/*
 * A call tree that a text prints one function a line, callers before what they call, indented by
 * their depth.
 */
#ifndef SPROF_CALL_TREE_H
#define SPROF_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

struct call_tree {
	struct profile *p;
	uint32_t *frames; /* from the root to the last line */
	size_t depth, capacity;
};

/*
 * Goes to a line at that depth, 0 = a root; false if it is deeper than one below the line before.
 * The indentation that a depth takes in the text keeps stacks in proportion to the file.
 */
bool call_tree_enter(struct call_tree *t, size_t depth, uint32_t frame);

/* The stack of the line. */
uint32_t call_tree_stack(const struct call_tree *t);

void call_tree_fini(struct call_tree *t);

#endif
