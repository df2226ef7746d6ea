/*
 * The report for machines: one JSON object, versioned; docs/report-json.md says what is in it.
 */
#ifndef SPROF_TABLE_JSON_H
#define SPROF_TABLE_JSON_H

#include <stdint.h>

#include "output/tree/ranking.h"

struct buffer;
struct grid;
struct summary;

/* `by` is what the rows are: "function", "module", ...; max_rows 0 = all. */
void report_json_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		       enum ranking_key key, const char *by, uint32_t max_rows);

/* Rows are the nodes of the tree, depth first, each with the number of its parent's row. */
void report_json_write_tree(struct buffer *b, const struct tree *tree,
			    const struct summary *summary, const char *by);

/* A table of samples under the same head, where "report" says which it is in place of "by". */
void report_json_write_grid(struct buffer *b, const struct summary *summary, const char *report,
			    const struct grid *grid, uint32_t max_rows);

/* The same with all rows of a second table as another member, `name`; second NULL: without. */
void report_json_write_grids(struct buffer *b, const struct summary *summary, const char *report,
			     const struct grid *grid, uint32_t max_rows, const char *name,
			     const struct grid *second);

#endif
