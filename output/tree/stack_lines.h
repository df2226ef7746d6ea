/*
 * The stacks of one column of a profile as lines of codes, for a tree to be built from: one for each
 * sample, or where stacks have many samples one for each stack under each thread name. Where every
 * frame is one function and threads have no names, lines are the stacks as the profile has them.
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
	 * The number of a line is its weight, which is all that there is to say of it; else it is one
	 * for tree_lines_share(), below `nr_numbers`. To look that up for a million lines anywhere in
	 * memory takes long.
	 */
	bool numbers_are_weights;
	size_t nr_numbers;

	/* private */
	const struct profile *p;
	const struct tree_functions *functions;
	enum profile_column column;
	struct tree_group *groups;
	size_t nr_groups, groups_capacity;
	uint32_t *code_of, *written;
	size_t most_codes, nr_written, written_capacity;
};

/* What a line brings. */
struct tree_share {
	uint64_t weight, events;
};

/*
 * Makes the lines of a column, and names what is in them; the codes are those of *ret_functions, which is
 * the caller's to end, whatever is returned. -ERANGE when the sum of weights reaches TREE_MAX_TOTAL,
 * -EFBIG when there are too many lines or words. `ret_numbers`, if not NULL, receives the number of the line
 * of each sample of the column, and is left as it is where a sample is of another.
 */
int tree_lines_init(struct tree_lines *lines, const struct profile *p, enum profile_column column,
		    bool without_modules, struct tree_functions *ret_functions,
		    uint32_t *ret_numbers);
void tree_lines_fini(struct tree_lines *lines);

struct tree_share tree_lines_share(const struct tree_lines *lines, uint32_t number);

#endif
