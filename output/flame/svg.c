/*
 * Writes the SVG around the frames: title, texts, legend, data and script. flame.js and
 * flame_draw.js draw the same picture from the data, and repeat the geometry and the class names; a
 * browser test compares them.
 */
#include "output/flame/svg.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/flame/color.h"
#include "output/flame/column_facts.h"
#include "output/report/diff_text.h"
#include "output/flame/script.h"
#include "output/tree/summary.h"
#include "output/flame/svg_data.h"
#include "output/flame/svg_data_nodes.h"
#include "output/flame/svg_frames.h"
#include "output/flame/svg_picture.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

enum {
	HEAD = 78,	  /* title and three lines of status */
	FOOT = 46,	  /* below the root: facts and legend */
	SECOND_LINE = 14, /* a diff and a butterfly have two lines of facts */
	TITLE_COLUMNS = 80,
	MAX_BOXES = 2400,
	MAX_ROWS = 800,
};

struct legend {
	struct buffer *b;
	const struct tree *tree, *below; /* below: or NULL */
	unsigned x, y;
};

static void add_legend_entry(struct legend *l, const char *class, bool hatched, const char *name)
{
	buffer_printf(l->b, "<g class=\"%s\"><rect x=\"%u\" y=\"%u\" width=\"12\" height=\"10\"/>",
		      class, l->x, l->y - 9);
	if (hatched)
		buffer_printf(l->b,
			      "<rect class=\"h\" x=\"%u\" y=\"%u\" width=\"12\" height=\"10\"/>",
			      l->x, l->y - 9);
	buffer_printf(l->b, "<text x=\"%u\" y=\"%u\">%s</text></g>", l->x + 17, l->y, name);
	l->x += 17 + (unsigned)(strlen(name) * SVG_COLUMN / 100) + 12;
}

static void add_legend_kind(int kind, const char *class, const char *name, void *arg)
{
	struct legend *l = arg;

	if (!color_has_class(l->tree, kind, class) &&
	    !(l->below && color_has_class(l->below, kind, class)))
		return;
	add_legend_entry(l, class, kind == FUNCTION_MARKER, name);
	l->x += 4; /* kinds are further apart than changes */
}

/* The steps are changes in percent of the whole, see diff_level(). */
static void add_legend_changes(struct legend *l)
{
	add_legend_entry(l, "d0", false, "less: 3%");
	add_legend_entry(l, "d1", false, "1%");
	add_legend_entry(l, "d2", false, "0.3%");
	add_legend_entry(l, "d4", false, "within the sampling error");
	add_legend_entry(l, "d6", false, "more: 0.3%");
	add_legend_entry(l, "d7", false, "1%");
	add_legend_entry(l, "d8", false, "3%");
	add_legend_entry(l, "d8 new", false, "new");
	add_legend_entry(l, "d0", true, "removed");
}

static void add_half_facts(const struct svg_picture *w)
{
	struct buffer facts = { 0 };

	buffer_printf(&facts, "%s: ", w->summary->info->title);
	summary_add_trust(&facts, w->summary);
	text_add_xml(w->b, facts.data, facts.size);
	buffer_fini(&facts);
}

static void add_facts(struct svg_picture *w, const struct svg_picture *below, unsigned y)
{
	struct buffer facts = { 0 }, *b = w->b;

	buffer_printf(b, "<text class=\"facts\" x=\"%d\" y=\"%u\">", SVG_MARGIN, y);
	if (below) {
		buffer_add_string(b, "<tspan>");
		add_half_facts(w);
		buffer_printf(b, "</tspan><tspan x=\"%d\" dy=\"%d\">", SVG_MARGIN, SECOND_LINE);
		add_half_facts(below);
		buffer_add_string(b, "</tspan></text>\n");
		return;
	}
	if (w->diff) {
		buffer_printf(b, "<tspan>");
		buffer_printf(&facts, "before, %s: ", w->diff->before_name);
		summary_add_trust(&facts, w->diff->before);
		text_add_xml(b, facts.data, facts.size);
		buffer_printf(b, "</tspan><tspan x=\"%d\" dy=\"%d\">", SVG_MARGIN, SECOND_LINE);
		facts.size = 0;
		buffer_printf(&facts, "after, %s: ", w->diff->after_name);
	}
	summary_add_trust(&facts, w->summary);
	text_add_xml(b, facts.data, facts.size);
	buffer_add_string(b, w->diff ? "</tspan></text>\n" : "</text>\n");
	buffer_fini(&facts);
}

/* The lower edge of all boxes and caps. */
static unsigned bottom_of(const struct svg_picture *w, const struct svg_picture *below)
{
	return below ? below->base + below->layout.nr_rows * SVG_ROW + SVG_CAP : w->base;
}

static unsigned second_line(const struct svg_picture *w, const struct svg_picture *below)
{
	return w->diff || below ? SECOND_LINE : 0;
}

/* Adds the facts about the samples and the legend below the picture. */
static void add_foot(struct svg_picture *w, const struct svg_picture *below)
{
	struct buffer *b = w->b;
	unsigned bottom = bottom_of(w, below), y = bottom + 36 + second_line(w, below);
	struct legend legend = { b, w->tree, below ? below->tree : NULL, SVG_MARGIN, y };

	add_facts(w, below, bottom + 18);
	buffer_printf(
		b,
		"<g class=\"legend\"><g class=\"%s\"><rect x=\"%u\" y=\"%u\" width=\"26\" "
		"height=\"7\"/><rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"12\" height=\"3\"/>"
		"<text x=\"%u\" y=\"%u\">box = total, cap = self</text></g>",
		w->diff ? "d4" : "n2", legend.x, y - 6, w->diff ? "c q4" : "c", legend.x + 14,
		y - 9, legend.x + 31, y);
	legend.x += 31 + 24 * SVG_COLUMN / 100 + 16;
	if (w->diff)
		add_legend_changes(&legend);
	else
		color_each_class(add_legend_kind, &legend);
	buffer_add_string(b, "</g>\n");
}

/* The line below the title: how the samples were taken, or what is compared. */
static void add_origin(struct buffer *line, const struct svg_picture *w,
		       const struct svg_picture *below)
{
	const struct diff_view *v = w->diff;
	struct buffer origin = { 0 };

	if (below) {
		buffer_printf(line, "%s up, %s down, each half by its own total",
			      w->summary->info->title, below->summary->info->title);
		summary_add_whole(&origin, w->summary);
		if (origin.size)
			buffer_add_string(line, " \xc2\xb7 ");
		buffer_add(line, origin.data, origin.size);
		buffer_fini(&origin);
		return;
	}
	if (!v) {
		summary_add_whole(line, w->summary);
		return;
	}
	buffer_add_string(line, "before ");
	summary_add_value(line, v->before, v->before->total);
	buffer_add_string(line, ", after ");
	summary_add_value(line, v->after, v->after->total);
	buffer_printf(line, ": %s",
		      v->diff->absolute ? "compared as they are" : "shares of each compared");
}

static void add_head(struct svg_picture *w, const struct svg_picture *below, const char *title)
{
	struct buffer line = { 0 }, *b = w->b;
	size_t fits;

	text_add_clean(&line, title, strlen(title));
	fits = text_head(line.data, line.size, TITLE_COLUMNS);
	buffer_printf(b, "<text class=\"name\" x=\"%d\" y=\"22\">", SVG_MARGIN);
	text_add_xml(b, line.data, fits);
	buffer_add_string(b, fits < line.size ? "\xe2\x80\xa6" : "");
	if (w->summary->unfinished) {
		buffer_add_string(b, "<tspan class=\"warn\"> UNFINISHED: ");
		text_add_xml(b, w->summary->note, strlen(w->summary->note));
		buffer_add_string(b, "</tspan>");
	}
	line.size = 0;
	add_origin(&line, w, below);
	buffer_printf(b, "</text>\n<g class=\"status\"><text x=\"%d\" y=\"40\">", SVG_MARGIN);
	text_add_xml(b, line.data, line.size);
	buffer_add_string(b, "</text></g>\n");
	buffer_fini(&line);
}

static void add_start(struct svg_picture *w, const struct svg_picture *below, const char *title)
{
	struct buffer *b = w->b;
	unsigned height = bottom_of(w, below) + FOOT + second_line(w, below);

	buffer_printf(b,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sprof\" width=\"%d\" "
		      "height=\"%u\" viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"",
		      SVG_WIDTH, height, SVG_WIDTH, height);
	text_add_xml(b, title, strlen(title));
	if (below)
		buffer_printf(b, "\" data-below=\"%s", below->summary->info->name);
	buffer_add_string(b, "\">\n");
}

static void add_defs(struct buffer *b)
{
	buffer_add_string(b, "<defs><pattern id=\"sprof-hatch\" width=\"6\" height=\"6\" "
			     "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
			     "<path class=\"hatch\" d=\"M0 0v6\"/></pattern>"
			     "<pattern id=\"sprof-merged\" width=\"4\" height=\"4\" "
			     "patternUnits=\"userSpaceOnUse\">"
			     "<path class=\"merged\" d=\"M0 0h3v4H0z\"/></pattern>"
			     "<pattern id=\"sprof-merged-caps\" width=\"4\" height=\"4\" "
			     "patternUnits=\"userSpaceOnUse\">"
			     "<path class=\"merged-cap\" d=\"M1 0h1v4H1z\"/></pattern>");
	color_add_textures(b);
	buffer_add_string(b, "</defs>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
}

/* Places a tree that grows up, below the head. halves_init() places a lower half. */
static void picture_init(struct svg_picture *w, struct buffer *b, const struct tree *tree,
			 const struct summary *summary, const struct svg_opts *opts)
{
	const struct diff *diff = opts->diff ? opts->diff->diff : NULL;
	uint32_t max_boxes = opts->below ? MAX_BOXES / 2 : MAX_BOXES;
	const struct layout_limits limits = { SVG_CHART, max_boxes, MAX_ROWS, diff };

	*w = (struct svg_picture){ .b = b, .tree = tree, .summary = summary, .diff = opts->diff };
	w->total = summary->total ? summary->total : 1;
	w->sums = tree_sums(tree);
	w->diff_sums = diff ? diff_sums(diff) : NULL;
	w->half = opts->below;
	layout_init(&w->layout, tree, &limits);
	w->base = HEAD + w->layout.nr_rows * SVG_ROW + SVG_CAP + 2;
}

static void picture_fini(struct svg_picture *w)
{
	layout_fini(&w->layout);
	free(w->sums);
	free(w->diff_sums);
}

/* The one or two halves of a picture. */
struct halves {
	struct svg_picture up, down;
	struct svg_picture *below; /* &down, or NULL */
};

static void halves_init(struct halves *h, struct buffer *b, const struct tree *tree,
			const struct summary *summary, const struct svg_opts *opts)
{
	const struct svg_column *below = opts->below;

	*h = (struct halves){ 0 };
	picture_init(&h->up, b, tree, summary, opts);
	if (!below)
		return;
	picture_init(&h->down, b, below->tree, &below->summary, opts);
	h->down.down = true;
	h->down.base = h->up.base + SVG_MIDDLE;
	h->below = &h->down;
}

static void halves_fini(struct halves *h)
{
	picture_fini(&h->up);
	picture_fini(&h->down);
}

static void add_picture(struct halves *h, const struct svg_opts *opts)
{
	add_defs(h->up.b);
	add_head(&h->up, h->below, opts->title);
	svg_frames_add(&h->up, h->below);
	add_foot(&h->up, h->below);
}

/* Adds the data of a column, with its texts if there are two columns. */
static void add_data(struct buffer *b, const struct svg_picture *w, struct svg_data *data,
		     bool outline)
{
	buffer_add_string(b, "<metadata class=\"data\"");
	if (w->half)
		column_facts_add(b, w->tree, w->summary);
	buffer_add_char(b, '>');
	if (outline)
		svg_data_add_outline(b, data);
	else
		svg_data_add(b, data);
	buffer_add_string(b, "</metadata>\n");
}

static void add_script(struct buffer *b)
{
	buffer_add_string(b, "<script><![CDATA[\n");
	script_add(b, false);
	buffer_add_string(b, "]]></script>\n");
}

static struct svg_data *data_of(const struct svg_picture *w, struct svg_data_nodes *nodes)
{
	return svg_data_new(w->tree, w->diff ? w->diff->diff : NULL, NULL, nodes);
}

/*
 * Adds script and data. Of a large tree the script draws the outline while the browser reads what
 * comes after it.
 */
static void add_live(struct buffer *b, const struct halves *h, struct svg_data_nodes *nodes)
{
	struct svg_data *data = data_of(&h->up, nodes), *below = NULL;
	bool large = !h->below && svg_data_is_large(data);

	add_data(b, &h->up, data, large);
	if (h->below) {
		below = data_of(h->below, NULL);
		add_data(b, h->below, below, false);
	}
	add_script(b);
	if (large) {
		buffer_add_string(b, "<metadata class=\"nodes\">");
		svg_data_add_rest(b, data);
		buffer_add_string(b, "</metadata>\n");
	}
	svg_data_free(data);
	svg_data_free(below);
}

struct svg_data_nodes *svg_outline(struct tree_opts *opts)
{
	struct svg_data_nodes *nodes = svg_data_nodes_new();

	opts->outline_parts = SVG_OUTLINE_PARTS;
	opts->sink = (struct tree_sink){ svg_data_nodes_take, nodes };
	return nodes;
}

void svg_outline_free(struct svg_data_nodes *nodes)
{
	svg_data_nodes_free(nodes);
}

void svg_add(struct buffer *b, const struct tree *tree, const struct summary *summary,
	     const struct svg_opts *opts)
{
	struct halves h;

	halves_init(&h, b, tree, summary, opts);
	add_start(&h.up, h.below, opts->title);
	add_picture(&h, opts);
	buffer_add_string(b, "</svg>\n");
	halves_fini(&h);
}

void svg_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
	       const struct svg_opts *opts)
{
	struct halves h;

	halves_init(&h, b, tree, summary, opts);
	buffer_add_string(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	add_start(&h.up, h.below, opts->title);
	buffer_add_string(b, "<title>");
	text_add_xml(b, opts->title, strlen(opts->title));
	buffer_add_string(b, "</title>\n<style>\n");
	script_add_style(b, false, opts->diff != NULL);
	buffer_add_string(b, "</style>\n");
	add_picture(&h, opts);
	if (!opts->without_script)
		add_live(b, &h, opts->nodes);
	buffer_add_string(b, "</svg>\n");
	halves_fini(&h);
}
