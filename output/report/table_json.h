/* The report for programs: one JSON object with a version, which docs/report-json.md describes. */
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

/* Writes the head and a table of samples; "report" names the table, in place of "by". */
void report_json_write_grid(struct buffer *b, const struct summary *summary, const char *report,
			    const struct grid *grid, uint32_t max_rows);

/* Writes also all rows of a second table, as the member `name`; second NULL: none. */
void report_json_write_grids(struct buffer *b, const struct summary *summary, const char *report,
			     const struct grid *grid, uint32_t max_rows, const char *name,
			     const struct grid *second);

#endif
