/*
 * Writes the call trees as a table for spreadsheets and data frames: for each column of the profile
 * one line per node, with its id, that of its parent, its function and its sums in the unit of the
 * column.
 */
#include "output/export/exporter.h"

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/cells.h"
#include "output/tree/ranking.h"
#include "output/tree/tree.h"

static void add_heading(struct buffer *b, char separator)
{
	static const char *const headings[] = { "column",      "id",	 "parent", "depth",
						"function",    "module", "file",   "line",
						"kind",	       "self",	 "total",  "self_events",
						"total_events" };

	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++) {
		buffer_add_string(b, headings[i]);
		buffer_add_char(b, separator);
	}
	cells_end(b);
}

static void add_tree(struct buffer *b, char separator, const struct tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		const struct tree_function *f = tree_function_of(tree, i);

		cells_add_text(b, separator, tree->info->name);
		cells_add_number(b, separator, i);
		if (i)
			buffer_add_u64(b, n->parent);
		buffer_add_char(b, separator);
		cells_add_number(b, separator, n->depth);
		cells_add_text(b, separator, f->name);
		cells_add_text(b, separator, f->module);
		cells_add_text(b, separator, f->file);
		cells_add_number(b, separator, f->line);
		cells_add_text(b, separator, ranking_kind_name(f->kind));
		cells_add_number(b, separator, tree_self(tree, n));
		cells_add_number(b, separator, tree_total(tree, n));
		cells_add_number(b, separator, tree_events_of(tree, n).self);
		cells_add_number(b, separator, tree_events_of(tree, n).total);
		cells_end(b);
	}
}

static int write_cells(struct buffer *b, const struct profile *p, char separator)
{
	bool present[NR_COLUMNS];

	columns_present(p, present);
	add_heading(b, separator);
	for (int c = 0; c < NR_COLUMNS; c++) {
		const struct tree_opts opts = { .column_given = true, .column = c };
		struct tree *tree;
		int err;

		if (!present[c])
			continue;
		err = tree_new(p, &opts, &tree);
		if (err)
			return err;
		add_tree(b, separator, tree);
		tree_free(tree);
	}
	return 0;
}

static int write_csv(struct buffer *b, const struct profile *p)
{
	return write_cells(b, p, ',');
}

static int write_tsv(struct buffer *b, const struct profile *p)
{
	return write_cells(b, p, '\t');
}

const struct exporter export_csv = {
	.name = "csv",
	.suffix = ".csv",
	.help = "spreadsheets, pandas: the call tree, a line per node",
	.write = write_csv,
};

const struct exporter export_tsv = {
	.name = "tsv",
	.suffix = ".tsv",
	.help = "the same, separated by tabs",
	.write = write_tsv,
};
