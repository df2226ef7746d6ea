/*
 * Writes the call tree as text, depth first with the most expensive child first. A stack of pending
 * lines takes the place of recursion, because trees are as deep as stacks.
 */
#include "output/report/tree_table.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/report/table.h"
#include "output/tree/margins.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

struct line {
	uint32_t node;
	uint32_t indent; /* columns */
	bool branch;	 /* has siblings that are shown */
};

struct writer {
	struct grid g;
	const struct tree *tree;
	const struct summary *summary;
	const struct table_opts *opts;
	uint64_t min; /* smallest total that is shown */
	struct line *stack;
	size_t nr_stack, capacity;
	uint32_t *children;
	size_t children_capacity;
	uint32_t nr_lines, nr_small;
	uint64_t small; /* self of the nodes that are not shown */
};

static int compare_totals(const void *a, const void *b, void *of)
{
	const struct tree *tree = of;
	const struct tree_node *x = &tree->nodes[*(const uint32_t *)a];
	const struct tree_node *y = &tree->nodes[*(const uint32_t *)b];
	uint64_t m = tree_total(tree, x), n = tree_total(tree, y);

	return ORDER(n, m) ?: ORDER(x, y);
}

static void add_line(struct writer *w, const struct line *line)
{
	const struct tree_node *n = &w->tree->nodes[line->node];
	const struct tree_function *f = tree_function_of(w->tree, line->node);

	number_add_percent(grid_cell(&w->g), tree_total(w->tree, n), w->summary->total);
	number_add_percent(grid_cell(&w->g), tree_self(w->tree, n), w->summary->total);
	summary_add_value(grid_cell(&w->g), w->summary, tree_total(w->tree, n));
	if (w->tree->margins && tree_total(w->tree, n)) {
		buffer_add_string(&w->g.text, w->opts->unicode ? "\xc2\xb1" : "+-");
		summary_add_value(&w->g.text, w->summary, w->tree->margins->node_total[line->node]);
	}
	summary_add_count(grid_cell(&w->g), w->summary, tree_events_of(w->tree, n).total,
			  w->opts->unicode);
	grid_name(&w->g, f->name, f->kind, line->indent + 2, line->branch ? "+ " : "  ");
	grid_style(&w->g, tree_self(w->tree, n) ? "\033[1m" : "");
	w->nr_lines++;
}

/* Pushes the children that are shown, the most expensive one last, so that it comes first. */
static void push_children(struct writer *w, const struct line *parent)
{
	const struct tree_node *nodes = w->tree->nodes;
	uint32_t end = nodes[parent->node].end;
	size_t nr = 0;

	for (uint32_t i = parent->node + 1; i < end; i = nodes[i].end) {
		uint64_t total = tree_total(w->tree, &nodes[i]);

		if (total < w->min || !total) {
			w->nr_small += nodes[i].end - i;
			w->small += total;
			continue;
		}
		w->children =
			xgrow(w->children, &w->children_capacity, nr + 1, sizeof(*w->children));
		w->children[nr++] = i;
	}
	if (nr)
		qsort_r(w->children, nr, sizeof(*w->children), compare_totals, (void *)w->tree);
	w->stack = xgrow(w->stack, &w->capacity, w->nr_stack + nr + 1, sizeof(*w->stack));
	for (size_t i = nr; i--;)
		w->stack[w->nr_stack++] = (struct line){
			.node = w->children[i],
			.indent = parent->indent + (nr > 1 && parent->node ? 2 : 0),
			.branch = nr > 1,
		};
}

static void add_rest(struct buffer *b, const struct writer *w)
{
	if (w->nr_small) {
		buffer_printf(b, "%u smaller one%s, together ", w->nr_small,
			      w->nr_small == 1 ? "" : "s");
		number_add_percent(b, w->small, w->summary->total);
		buffer_printf(b, " (--min 0 shows %s)\n", w->nr_small == 1 ? "it" : "them");
	}
	if (w->nr_stack)
		buffer_add_string(b, "and more (-n 0 shows all)\n");
}

void tree_table_add_rows(struct buffer *b, const struct tree *tree, const struct summary *summary,
			 const struct table_opts *opts, uint32_t min_parts)
{
	const struct grid_column columns[] = {
		{ NULL, "Total%", false },
		{ NULL, "Self%", false },
		{ NULL, "Total", false },
		{ NULL, summary->info->exact ? "" : "Samples", false },
		{ NULL, opts->heading, true },
	};
	struct writer w = { .tree = tree, .summary = summary, .opts = opts };

	grid_init(&w.g, columns, sizeof(columns) / sizeof(*columns));
	w.g.max_width = opts->columns;
	w.g.unicode = opts->unicode;
	w.g.color = opts->color;
	w.min = number_scale(summary->total, min_parts, 1000000);
	push_children(&w, &(struct line){ 0 });
	while (w.nr_stack && (!opts->max_rows || w.nr_lines < opts->max_rows)) {
		struct line line = w.stack[--w.nr_stack];

		add_line(&w, &line);
		push_children(&w, &line);
	}
	grid_write_text(b, &w.g, 0);
	add_rest(b, &w);
	grid_fini(&w.g);
	free(w.stack);
	free(w.children);
}

void tree_table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		      const struct table_opts *opts, uint32_t min_parts)
{
	table_add_head(b, summary);
	tree_table_add_rows(b, tree, summary, opts, min_parts);
}
