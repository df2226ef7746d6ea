/*
 * The call tree for people: a line per node, most expensive first, with its total and self.
 * Children are below their parent, indented unless there is only one, because most of a stack is a
 * chain.
 */
#ifndef SPROF_TREE_TABLE_H
#define SPROF_TREE_TABLE_H

#include <stdint.h>

struct buffer;
struct summary;
struct table_opts;
struct tree;

/*
 * Nodes below `min_parts` millionths of the whole are only counted and added up. opts->max_rows
 * limits the number of lines.
 */
void tree_table_add_rows(struct buffer *b, const struct tree *tree, const struct summary *summary,
			 const struct table_opts *opts, uint32_t min_parts);

/* Writes the lines of table_add_head(), and below them those rows. */
void tree_table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		      const struct table_opts *opts, uint32_t min_parts);

#endif
