/*
 * The stacks of one column as lines of codes (functions.h), from which tree.c builds a tree. There
 * is a line per sample, or, if stacks have many samples each, a line per stack and thread name. If
 * each frame is one function and threads have no names, the lines are read directly from the
 * profile's stacks.
 */
#ifndef SPROF_STACK_LINES_H
#define SPROF_STACK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/tree/stack_sort.h"

struct tree_functions;
struct tree_group;

struct tree_lines {
	struct stack_item *list;
	size_t nr;
	struct stack_words words;
	/*
	 * Either the number of a line is its weight, and weight and events are equal, or it is an
	 * argument for tree_lines_share(), below `nr_numbers`. The former avoids a million look-ups
	 * all over memory.
	 */
	bool numbers_are_weights;
	size_t nr_numbers;
	uint64_t total; /* of all weights */

	/* private */
	const struct profile *p;
	const struct tree_functions *functions;
	enum profile_column column;
	struct tree_group *groups;
	size_t nr_groups, groups_capacity;
	uint32_t *code_of, *written;
	size_t most_codes, nr_written, written_capacity;
};

/* The contribution of a line. */
struct tree_share {
	uint64_t weight, events;
};

/*
 * Makes the lines of a column and names their functions. The caller calls tree_functions_fini() on
 * *ret_functions, even after an error. 0, or, not reported, -ERANGE if the sum of weights reaches
 * TREE_MAX_TOTAL, -EFBIG if there are too many lines or words. `ret_numbers`, if not NULL, receives
 * the number of the line of each sample of the column; entries of other samples stay as they are.
 */
int tree_lines_init(struct tree_lines *lines, const struct profile *p, enum profile_column column,
		    bool without_modules, struct tree_functions *ret_functions,
		    uint32_t *ret_numbers);
void tree_lines_fini(struct tree_lines *lines);

struct tree_share tree_lines_share(const struct tree_lines *lines, uint32_t number);

#endif
