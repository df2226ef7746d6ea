/*
 * The call tree for people: a line per node, most expensive first, with its total and self. Children stand under
 * their parent; where there is only one, it is not indented, as most of a stack is such a chain.
 */
#ifndef SPROF_TREE_TABLE_H
#define SPROF_TREE_TABLE_H

#include <stdint.h>

struct buffer;
struct summary;
struct table_opts;
struct tree;

/*
 * Of nodes below `min_parts` millionths of the whole only their number and sum are said. max_rows of
 * the options: at most so many lines.
 */
void tree_table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		      const struct table_opts *opts, uint32_t min_parts);

#endif
