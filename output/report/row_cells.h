/*
 * The report for spreadsheets and scripts: a line per row, with fields separated by commas or tabs.
 */
#ifndef SPROF_ROW_CELLS_H
#define SPROF_ROW_CELLS_H

#include <stdint.h>

#include "output/tree/ranking.h"

struct buffer;
struct summary;

/* `by` is the heading of the names: "function", "module", ... Writes max_rows lines; 0 = all. */
void report_cells_write(struct buffer *b, char separator, const struct tree *tree,
			const struct summary *summary, enum ranking_key key, const char *by,
			uint32_t max_rows);

/* Writes the nodes of the tree, depth first, each with the number of its parent's line. */
void report_cells_write_tree(struct buffer *b, char separator, const struct tree *tree,
			     const struct summary *summary, const char *by);

#endif
