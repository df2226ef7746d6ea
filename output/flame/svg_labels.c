/*
 * Labels boxes. A label has no more characters than fit its box in the widest font that a reader
 * may have.
 */
#include "output/flame/svg_labels.h"

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/flame/svg_picture.h"
#include "output/report/diff_text.h"
#include "output/text/number.h"
#include "output/text/text.h"
#include "output/tree/label.h"
#include "output/tree/summary.h"
#include "output/tree/tree.h"

static void add_text(struct svg_picture *w, uint64_t left, unsigned y, const struct buffer *text)
{
	buffer_add_string(w->b, "<text x=\"");
	svg_add_hundredths(w->b, left + (SVG_MARGIN + SVG_PAD) * 100);
	buffer_printf(w->b, "\" y=\"%u\">", y + 13);
	text_add_xml(w->b, text->data, text->size);
	buffer_add_string(w->b, "</text>");
}

/* Writes as much of "33635 frames merged" into a run as fits its width. */
void svg_add_run_label(struct svg_picture *w, const struct layout_box *box, unsigned y)
{
	uint64_t left = svg_position(w, box->x),
		 width = svg_position(w, box->x + box->width) - left;
	uint32_t nr = svg_run_frames(w, box);
	struct buffer label = { 0 };
	size_t columns;

	if (width > 2 * SVG_PAD * 100) {
		columns = (width - 2 * SVG_PAD * 100) / SVG_COLUMN;
		buffer_printf(&label, "%u frame%s merged", nr, nr == 1 ? "" : "s");
		if (label.size > columns) {
			label.size = 0;
			buffer_printf(&label, "%u merged", nr);
		}
		if (label.size <= columns)
			add_text(w, left, y, &label);
	}
	buffer_fini(&label);
}

/*
 * Adds "41% +5.7%", without the change if it is not significant; for a removed path only "-4.1%".
 */
static void add_change_text(struct svg_picture *w, struct buffer *text, bool removed,
			    const struct diff_amount *after, const struct diff_change *c)
{
	if (removed) {
		diff_text_add_change(text, w->diff, c);
		return;
	}
	diff_text_add_amount(text, w->diff, c->after, after);
	if (c->significant) {
		buffer_add_char(text, ' ');
		diff_text_add_change(text, w->diff, c);
	}
}

/* Adds " 41% +5.7%" of a frame's total. A path that still exists has its numbers at the left. */
static void add_total_text(struct svg_picture *w, struct buffer *text, const struct layout_box *box)
{
	const struct tree_node *n = &w->tree->nodes[box->node];
	const struct tree_events events = tree_events_of(w->tree, n);
	const struct diff_change total = diff_total_of(w->diff->diff, box->node);
	bool removed = box->removed && !tree_total(w->tree, n);

	if (box->removed && !removed)
		return;
	buffer_add_char(text, ' ');
	add_change_text(w, text, removed,
			&(struct diff_amount){ tree_total(w->tree, n), events.total, 0 }, &total);
}

/* Writes the first of these into a fold that fits: "+17 frames, _start … run_mod 39%", "+17". */
void svg_add_fold_label(struct svg_picture *w, const struct layout_box *box, unsigned y)
{
	const struct label_name first = label_name_of(tree_function_of(w->tree, box->node));
	const struct label_name last = label_name_of(tree_function_of(w->tree, box->fold_last));
	uint64_t left = svg_position(w, box->x),
		 width = svg_position(w, box->x + box->width) - left;
	uint32_t nr = svg_fold_frames(w, box);
	struct buffer share = { 0 }, label = { 0 };
	size_t columns = width > 2 * SVG_PAD * 100 ? (width - 2 * SVG_PAD * 100) / SVG_COLUMN : 0;

	if (w->diff) {
		add_total_text(w, &share, box);
	} else {
		buffer_add_char(&share, ' ');
		number_add_percent(&share, box->width, w->total);
	}
	buffer_printf(&label, "+%u frames, ", nr);
	buffer_add(&label, first.text + first.short_start, first.short_size);
	buffer_add_string(&label, " \xe2\x80\xa6 ");
	buffer_add(&label, last.text + last.short_start, last.short_size);
	buffer_add(&label, share.data, share.size);
	if (text_columns(label.data, label.size) > columns) {
		label.size = 0;
		buffer_printf(&label, "+%u frames", nr);
		if (label.size + share.size <= columns)
			buffer_add(&label, share.data, share.size);
	}
	if (text_columns(label.data, label.size) > columns) {
		label.size = 0;
		buffer_printf(&label, "+%u", nr);
	}
	if (text_columns(label.data, label.size) <= columns)
		add_text(w, left, y, &label);
	buffer_fini(&share);
	buffer_fini(&label);
}

static void add_diff_label(struct svg_picture *w, struct buffer *label,
			   const struct layout_box *box, size_t columns)
{
	const struct tree_node *n = &w->tree->nodes[box->node];
	const struct tree_events events = tree_events_of(w->tree, n);
	const struct diff_change self = diff_self_of(w->diff->diff, box->node);
	const struct label_name name = label_name_of(tree_function_of(w->tree, box->node));
	struct buffer total_text = { 0 }, self_text = { 0 };
	bool removed = box->removed && !tree_total(w->tree, n);

	add_total_text(w, &total_text, box);
	if (removed ? self.before > 0 : tree_self(w->tree, n) && !box->removed) {
		buffer_add_string(&self_text, " \xc2\xb7 self ");
		add_change_text(w, &self_text, removed,
				&(struct diff_amount){ tree_self(w->tree, n), events.self, 0 },
				&self);
	}
	label_add_texts(label, &name, &total_text, &self_text, columns);
	buffer_fini(&total_text);
	buffer_fini(&self_text);
}

/* The root of the removed paths is labelled "removed", not "all". */
static void add_removed_label(struct svg_picture *w, struct buffer *label, size_t columns)
{
	static const struct label_name name = { "removed", 7, 0, 7 };
	const struct diff_change change = diff_removed(w->diff->diff);
	struct buffer text = { 0 }, none = { 0 };

	buffer_add_char(&text, ' ');
	diff_text_add_change(&text, w->diff, &change);
	label_add_texts(label, &name, &text, &none, columns);
	buffer_fini(&text);
}

/* Labels the root of a half with its column and total: "GPU time 1.24 s". */
static void add_scale_label(const struct svg_picture *w, struct buffer *label, size_t columns)
{
	size_t fits;

	buffer_printf(label, "%s ", w->summary->info->title);
	summary_add_value(label, w->summary, tree_total(w->tree, w->tree->nodes));
	fits = text_head(label->data, label->size, columns);
	label->size = fits;
}

void svg_add_frame_label(struct svg_picture *w, const struct layout_box *box, unsigned y)
{
	const struct tree_node *n = &w->tree->nodes[box->node];
	const struct label_name name = label_name_of(tree_function_of(w->tree, box->node));
	uint64_t left = svg_position(w, box->x),
		 width = svg_position(w, box->x + box->width) - left;
	struct buffer label = { 0 };
	size_t columns;

	if (width > 2 * SVG_PAD * 100) {
		columns = (width - 2 * SVG_PAD * 100) / SVG_COLUMN;
		if (box->removed && !box->node)
			add_removed_label(w, &label, columns);
		else if (w->half && !box->node)
			add_scale_label(w, &label, columns);
		else if (w->diff)
			add_diff_label(w, &label, box, columns);
		else
			label_add(&label, &name, tree_total(w->tree, n), tree_self(w->tree, n),
				  w->total, columns);
	}
	if (label.size)
		add_text(w, left, y, &label);
	buffer_fini(&label);
}
