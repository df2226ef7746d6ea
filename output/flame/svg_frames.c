/*
 * Draws the frames of a layout. flame_draw.js draws the same frames from the data; a browser test
 * compares the two.
 */
#include "output/flame/svg_frames.h"

#include <stdbool.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/flame/color.h"
#include "output/flame/svg_labels.h"
#include "output/flame/svg_picture.h"
#include "output/report/diff_text.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

enum { FOLD_NAMES = 40 }; /* that a tooltip lists */

/* Rounds both ends rather than the width, so that adjacent boxes leave no gap. */
static void add_rect(struct svg_picture *w, const char *class, uint64_t x, uint64_t width,
		     unsigned y, unsigned height)
{
	struct buffer *b = w->b;
	uint64_t left = svg_position(w, x), right = svg_position(w, x + width);
	bool slim = right - left < SVG_SLIM * 100;

	buffer_add_string(b, "<rect ");
	if (*class || slim)
		buffer_printf(b, "class=\"%s%s%s\" ", class, *class && slim ? " " : "",
			      slim ? "s" : "");
	buffer_add_string(b, "x=\"");
	svg_add_hundredths(b, left + SVG_MARGIN * 100);
	buffer_printf(b, "\" y=\"%u\" width=\"", y);
	svg_add_hundredths(b, right - left);
	buffer_printf(b, "\" height=\"%u\"/>", height);
}

static void add_share(struct buffer *b, const struct svg_picture *w, const char *what,
		      uint64_t value)
{
	buffer_printf(b, "%s ", what);
	number_add_percent(b, value, w->total);
	if (w->summary->info->unit != UNIT_COUNT) {
		buffer_add_string(b, ", ");
		summary_add_value(b, w->summary, value);
	}
}

/*
 * Adds a line of a tooltip, escaped, and empties the buffer. All text of tooltips goes through
 * here.
 */
static void add_line(struct svg_picture *w, struct buffer *line)
{
	text_add_xml(w->b, line->data, line->size);
	buffer_add_char(w->b, '\n');
	line->size = 0;
}

/* Adds a sentence with total and self before and after; for a removed path only before. */
static void add_sentence(struct svg_picture *w, struct buffer *line, const char *what,
			 const struct diff_side *was, const struct diff_side *is,
			 const struct diff_change *total, const struct diff_change *self)
{
	buffer_add_string(line, what);
	diff_text_add_sentence(line, w->diff, "total", &was->total, &is->total, total, true);
	buffer_add_string(line, " \xc2\xb7 ");
	diff_text_add_sentence(line, w->diff, "self", &was->self, &is->self, self, true);
	add_line(w, line);
}

static void add_changes(struct svg_picture *w, uint32_t node)
{
	const struct diff *d = w->diff->diff;
	const struct tree_node *n = &w->tree->nodes[node];
	const struct tree_events events = tree_events_of(w->tree, n);
	const struct diff_row *row = &w->diff_sums[n->function];
	struct diff_change total = diff_total_of(d, node), self = diff_self_of(d, node);
	struct diff_side is = { { tree_self(w->tree, n), events.self, 0 },
				{ tree_total(w->tree, n), events.total, 0 } };
	const char *what = !events.total		    ? "removed: "
			   : !d->before[node].total.samples ? "new: "
							    : "";
	struct buffer line = { 0 };

	add_sentence(w, &line, what, &d->before[node], &is, &total, &self);
	if (w->sums[n->function].nr_nodes > 1) {
		buffer_printf(&line, "all %u frames of it: ", w->sums[n->function].nr_nodes);
		add_sentence(w, &line, "", &row->before, &row->after, &row->total, &row->self);
	}
	buffer_fini(&line);
}

static void add_numbers(struct svg_picture *w, const struct tree_node *n)
{
	const struct tree_sum *sum = &w->sums[n->function];
	struct buffer line = { 0 };

	if (w->half)
		buffer_printf(&line, "%s: ", w->summary->info->title);
	add_share(&line, w, "total", tree_total(w->tree, n));
	add_share(&line, w, " \xc2\xb7 self", tree_self(w->tree, n));
	buffer_add_string(&line, " \xc2\xb7 ");
	summary_add_events(&line, w->summary, tree_events_of(w->tree, n).total, true);
	add_line(w, &line);
	if (sum->nr_nodes > 1) {
		buffer_printf(&line, "all %u frames of it: ", sum->nr_nodes);
		add_share(&line, w, "total", sum->total);
		add_share(&line, w, " \xc2\xb7 self", sum->self);
		add_line(w, &line);
	}
	buffer_fini(&line);
}

/* The full name, the numbers of this frame, those of all frames of the function, and its place. */
static void add_tooltip(struct svg_picture *w, uint32_t node)
{
	const struct tree_function *f = tree_function_of(w->tree, node);
	struct buffer line = { 0 };

	buffer_add_string(w->b, "<title>");
	buffer_add_string(&line, f->name);
	add_line(w, &line);
	if (w->diff)
		add_changes(w, node);
	else
		add_numbers(w, &w->tree->nodes[node]);
	if (*f->module)
		buffer_add_string(&line, f->module);
	if (*f->file)
		buffer_printf(&line, "%s%s:%u", line.size ? " \xc2\xb7 " : "", f->file, f->line);
	if (w->tree->nodes[node].inlined)
		buffer_printf(&line, "%sinlined", line.size ? " \xc2\xb7 " : "");
	if (line.size)
		add_line(w, &line);
	w->b->size--; /* drops the last newline */
	buffer_add_string(w->b, "</title>");
	buffer_fini(&line);
}

static void add_run_share(struct buffer *line, const struct svg_picture *w,
			  const struct layout_box *box)
{
	unsigned shift = w->diff ? w->diff->diff->width_shift : 0;

	add_share(line, w, box->removed ? "removed" : "total", box->width >> shift);
}

/* Caps touch their boxes at the side of the children. */
static unsigned cap_y(const struct svg_picture *w, unsigned y)
{
	return w->down ? y + SVG_BOX : y - SVG_CAP;
}

static uint32_t run_rows(const struct tree *tree, const struct layout_box *box)
{
	uint32_t lowest = tree->nodes[box->node].depth, highest = lowest;

	for (uint32_t i = box->node; i < box->run_end; i++) {
		uint32_t deepest = tree_cut_of(tree, i).deepest;

		if (tree->nodes[i].depth > highest)
			highest = tree->nodes[i].depth;
		if (deepest > highest)
			highest = deepest;
	}
	return highest - lowest + 1;
}

static void add_run(struct svg_picture *w, const struct layout_box *box, unsigned y)
{
	struct buffer *b = w->b, line = { 0 };
	uint32_t nr = svg_run_frames(w, box), rows = run_rows(w->tree, box);

	buffer_printf(b, "<g class=\"m\"><title>%u frame%s in %u row%s merged into one box\n", nr,
		      nr == 1 ? "" : "s", rows, rows == 1 ? "" : "s");
	add_run_share(&line, w, box);
	add_line(w, &line);
	b->size--;
	buffer_add_string(b, "</title>");
	add_rect(w, "", box->x, box->width, y, SVG_BOX);
	add_rect(w, "c", box->cap_x, box->cap_width, cap_y(w, y), SVG_CAP);
	svg_add_run_label(w, box, y);
	buffer_add_string(b, "</g>\n");
	buffer_fini(&line);
}

/* Names the frames of a fold in its tooltip, the outermost first. */
static void add_fold_names(struct svg_picture *w, const struct layout_box *box)
{
	const struct tree_node *nodes = w->tree->nodes;
	uint32_t names[FOLD_NAMES], nr = svg_fold_frames(w, box), node = box->fold_last;
	struct buffer line = { 0 };

	for (uint32_t i = nr; i--; node = nodes[node].parent)
		if (i < FOLD_NAMES)
			names[i] = node;
	for (uint32_t i = 0; i < nr && i < FOLD_NAMES; i++) {
		buffer_add_string(&line, tree_function_of(w->tree, names[i])->name);
		add_line(w, &line);
	}
	if (nr > FOLD_NAMES) {
		buffer_printf(&line, "and %u more", nr - FOLD_NAMES);
		add_line(w, &line);
	}
	buffer_fini(&line);
}

/* The classes of a frame and of its cap. In a diff boxes have the colour of the change. */
static void choose_classes(const struct svg_picture *w, const struct layout_box *box,
			   char ret_frame[COLOR_NAME_SIZE], char ret_cap[COLOR_NAME_SIZE])
{
	struct diff_change change;

	ret_cap[0] = '\0';
	if (!w->diff) {
		color_class(w->tree, box->node, ret_frame);
		return;
	}
	change = diff_total_of(w->diff->diff, box->node);
	color_change_class('d', diff_level(&change), ret_frame);
	change = diff_self_of(w->diff->diff, box->node);
	color_change_class('q', diff_level(&change), ret_cap);
}

/* A further class of a frame in a diff: "way" leads to removed paths, "new" is a new path. */
static const char *diff_class(const struct svg_picture *w, const struct layout_box *box)
{
	const struct tree_node *n = &w->tree->nodes[box->node];
	struct diff_change change;

	if (!w->diff)
		return "";
	if (box->removed)
		return tree_total(w->tree, n) ? " way" : "";
	change = diff_total_of(w->diff->diff, box->node);
	return change.significant && !w->diff->diff->before[box->node].total.samples ? " new" : "";
}

static bool is_hatched(const struct svg_picture *w, const struct layout_box *box)
{
	if (w->diff)
		return box->removed && !tree_total(w->tree, &w->tree->nodes[box->node]);
	return tree_function_of(w->tree, box->node)->kind == FUNCTION_MARKER;
}

static void add_cap(struct svg_picture *w, const struct layout_box *box, const char *change,
		    unsigned y)
{
	char class[COLOR_NAME_SIZE + 2] = "c";

	if (!box->cap_width)
		return;
	if (*change)
		snprintf(class, sizeof(class), "c %s", change);
	add_rect(w, class, box->cap_x, box->cap_width, cap_y(w, y), SVG_CAP);
}

/* Adds what a fold's tooltip says of its sums: in a diff those of its outermost frame. */
static void add_fold_sums(struct svg_picture *w, const struct layout_box *box, struct buffer *line)
{
	const struct tree_node *n = &w->tree->nodes[box->node];
	const struct tree_events events = tree_events_of(w->tree, n);
	const struct diff_amount is = { tree_total(w->tree, n), events.total, 0 };
	const struct diff_side *was;
	struct diff_change total;

	if (!w->diff) {
		add_share(line, w, "total", box->width);
		return;
	}
	was = &w->diff->diff->before[box->node];
	total = diff_total_of(w->diff->diff, box->node);
	buffer_add_string(line, !events.total ? "removed: " : !was->total.samples ? "new: " : "");
	diff_text_add_sentence(line, w->diff, "total", &was->total, &is, &total, true);
}

static void add_fold(struct svg_picture *w, const struct layout_box *box, unsigned y)
{
	struct buffer *b = w->b, line = { 0 };
	char class[COLOR_NAME_SIZE], cap[COLOR_NAME_SIZE];

	choose_classes(w, box, class, cap);
	if (w->diff)
		buffer_printf(b, "<g class=\"%s%s fd\">", class, diff_class(w, box));
	else
		buffer_add_string(b, "<g class=\"f\">");
	buffer_printf(b, "<title>%u frames folded, each only calls the next:\n",
		      svg_fold_frames(w, box));
	add_fold_names(w, box);
	add_fold_sums(w, box, &line);
	add_line(w, &line);
	b->size--;
	buffer_add_string(b, "</title>");
	add_rect(w, "", box->x, box->width, y, SVG_BOX);
	if (w->diff && is_hatched(w, box))
		add_rect(w, "h", box->x, box->width, y, SVG_BOX);
	add_cap(w, box, w->diff ? "q4" : "", y);
	svg_add_fold_label(w, box, y);
	buffer_add_string(b, "</g>\n");
	buffer_fini(&line);
}

static void add_frame(struct svg_picture *w, const struct layout_box *box, unsigned y)
{
	struct buffer *b = w->b;
	char class[COLOR_NAME_SIZE], cap[COLOR_NAME_SIZE];

	choose_classes(w, box, class, cap);
	buffer_printf(b, "<g class=\"%s%s\">", class, diff_class(w, box));
	add_tooltip(w, box->node);
	add_rect(w, "", box->x, box->width, y, SVG_BOX);
	if (is_hatched(w, box))
		add_rect(w, "h", box->x, box->width, y, SVG_BOX);
	add_cap(w, box, cap, y);
	if (w->tree->nodes[box->node].inlined) {
		buffer_add_string(b, "<path class=\"i\" d=\"M");
		svg_add_hundredths(b, svg_position(w, box->x) + SVG_MARGIN * 100 + 100);
		buffer_printf(b, " %uv%d\"/>", y, SVG_BOX);
	}
	svg_add_frame_label(w, box, y);
	buffer_add_string(b, "</g>\n");
}

static void add_frames(struct svg_picture *w)
{
	for (size_t i = 0; i < w->layout.nr_boxes; i++) {
		const struct layout_box *box = &w->layout.boxes[i];
		unsigned y =
			w->down ? w->base + box->row * SVG_ROW : w->base - (box->row + 1) * SVG_ROW;

		if (box->run_end)
			add_run(w, box, y);
		else if (box->fold_last)
			add_fold(w, box, y);
		else
			add_frame(w, box, y);
	}
}

void svg_frames_add(struct svg_picture *w, struct svg_picture *below)
{
	buffer_add_string(w->b, "<g class=\"frames\">\n");
	if (below)
		buffer_printf(w->b, "<path class=\"middle\" d=\"M%d %u.5h%d\"/>\n", SVG_MARGIN,
			      below->base - 4, SVG_CHART);
	add_frames(w);
	if (below)
		add_frames(below);
	buffer_add_string(w->b, "</g>\n");
}
