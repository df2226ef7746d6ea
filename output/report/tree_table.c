/*
 * Writes the call tree as text, depth first with the most expensive child first. A stack of pending
 * lines takes the place of recursion, because trees are as deep as stacks.
 */
#include "output/report/tree_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/align.h"
#include "output/tree/label.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/report/table.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

enum { NAME_MIN = 20, PERCENT = 6, VALUE = 9 };

struct line {
	uint32_t node;
	uint32_t indent; /* columns */
	bool branch;	 /* has siblings that are shown */
};

struct writer {
	struct buffer *b;
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

static int compare_totals(const void *a, const void *b, void *nodes)
{
	const struct tree_node *x = (struct tree_node *)nodes + *(const uint32_t *)a;
	const struct tree_node *y = (struct tree_node *)nodes + *(const uint32_t *)b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_right(struct buffer *b, const struct buffer *cell, size_t width)
{
	size_t start = b->size;

	buffer_add(b, cell->data, cell->size);
	align_right(b, start, width);
	buffer_add_string(b, "  ");
}

static void add_numbers(struct writer *w, const struct tree_node *n)
{
	struct buffer cell = { 0 };

	number_add_percent(&cell, n->total, w->summary->total);
	add_right(w->b, &cell, PERCENT);
	cell.size = 0;
	number_add_percent(&cell, n->self, w->summary->total);
	add_right(w->b, &cell, PERCENT);
	cell.size = 0;
	summary_add_value(&cell, w->summary, n->total);
	add_right(w->b, &cell, VALUE);
	cell.size = 0;
	summary_add_count(&cell, w->summary, tree_events_of(w->tree, n).total, w->opts->unicode);
	add_right(w->b, &cell, VALUE);
	buffer_fini(&cell);
}

static void add_line(struct writer *w, const struct line *line)
{
	const struct tree_node *n = &w->tree->nodes[line->node];
	const struct tree_function *f = tree_function_of(w->tree, line->node);
	size_t fixed = 2 * (PERCENT + VALUE) + 4 * 2, room = SIZE_MAX, indent = line->indent;

	if (w->opts->columns) {
		room = w->opts->columns > fixed + NAME_MIN ? w->opts->columns - fixed : NAME_MIN;
		if (indent + 2 + NAME_MIN > room)
			indent = room > 2 + NAME_MIN ? room - 2 - NAME_MIN : 0;
		room -= indent + 2 < room ? indent + 2 : 0;
	}
	add_numbers(w, n);
	for (size_t i = 0; i < indent; i++)
		buffer_add_char(w->b, ' ');
	buffer_add_string(w->b, line->branch ? "+ " : "  ");
	if (w->opts->color && n->self)
		buffer_add_string(w->b, "\033[1m");
	label_add_short(w->b, f->name, strlen(f->name), f->kind, room, w->opts->unicode);
	buffer_add_string(w->b, w->opts->color && n->self ? "\033[0m\n" : "\n");
	w->nr_lines++;
}

/* Pushes the children that are shown, the most expensive one last, so that it comes first. */
static void push_children(struct writer *w, const struct line *parent)
{
	const struct tree_node *nodes = w->tree->nodes;
	uint32_t end = nodes[parent->node].end;
	size_t nr = 0;

	for (uint32_t i = parent->node + 1; i < end; i = nodes[i].end) {
		if (nodes[i].total < w->min || !nodes[i].total) {
			w->nr_small += nodes[i].end - i;
			w->small += nodes[i].total;
			continue;
		}
		w->children =
			xgrow(w->children, &w->children_capacity, nr + 1, sizeof(*w->children));
		w->children[nr++] = i;
	}
	if (nr)
		qsort_r(w->children, nr, sizeof(*w->children), compare_totals,
			(void *)w->tree->nodes);
	w->stack = xgrow(w->stack, &w->capacity, w->nr_stack + nr + 1, sizeof(*w->stack));
	for (size_t i = nr; i--;)
		w->stack[w->nr_stack++] = (struct line){
			.node = w->children[i],
			.indent = parent->indent + (nr > 1 && parent->node ? 2 : 0),
			.branch = nr > 1,
		};
}

static void add_rest(struct writer *w)
{
	if (w->nr_small) {
		buffer_printf(w->b, "%u smaller one%s, together ", w->nr_small,
			      w->nr_small == 1 ? "" : "s");
		number_add_percent(w->b, w->small, w->summary->total);
		buffer_printf(w->b, " (--min 0 shows %s)\n", w->nr_small == 1 ? "it" : "them");
	}
	if (w->nr_stack)
		buffer_add_string(w->b, "and more (-n 0 shows all)\n");
}

void tree_table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		      const struct table_opts *opts, uint32_t min_parts)
{
	struct writer w = { .b = b, .tree = tree, .summary = summary, .opts = opts };

	w.min = number_scale(summary->total, min_parts, 1000000);
	table_add_head(b, summary);
	buffer_printf(b, "%s%*s  %*s  %*s  %*s    %s%s\n", opts->color ? "\033[1m" : "", PERCENT,
		      "Total%", PERCENT, "Self%", VALUE, "Total", VALUE,
		      summary->info->exact ? "" : "Samples", opts->heading,
		      opts->color ? "\033[0m" : "");
	push_children(&w, &(struct line){ 0 });
	while (w.nr_stack && (!opts->max_rows || w.nr_lines < opts->max_rows)) {
		struct line line = w.stack[--w.nr_stack];

		add_line(&w, &line);
		push_children(&w, &line);
	}
	add_rest(&w);
	free(w.stack);
	free(w.children);
}
