/*
 * Collects title, origin, trust and legend of a column. The legend lists only the kinds that the
 * tree has.
 */
#include "output/flame/column_facts.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/flame/color.h"
#include "output/tree/summary.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

static void add_attribute(struct buffer *b, const char *name, const char *value, size_t size)
{
	buffer_printf(b, " data-%s=\"", name);
	text_add_xml(b, value, size);
	buffer_add_char(b, '"');
}

struct legend {
	struct buffer *b;
	const struct tree *tree;
};

/* Appends class and name of a kind if the tree has it: "n2 native;". */
static void add_legend_kind(int kind, const char *class, const char *name, void *arg)
{
	struct legend *l = arg;

	if (color_has_class(l->tree, kind, class))
		buffer_printf(l->b, "%s %s;", class, name);
}

void column_facts_add_name(struct buffer *b, const struct summary *s)
{
	add_attribute(b, "name", s->info->name, strlen(s->info->name));
}

void column_facts_add(struct buffer *b, const struct tree *tree, const struct summary *s)
{
	struct buffer text = { 0 };
	struct legend legend = { &text, tree };

	column_facts_add_name(b, s);
	add_attribute(b, "title", s->info->title, strlen(s->info->title));
	summary_add_whole(&text, s);
	add_attribute(b, "origin", text.data, text.size);
	text.size = 0;
	summary_add_trust(&text, s);
	add_attribute(b, "facts", text.data, text.size);
	text.size = 0;
	color_each_class(add_legend_kind, &legend);
	add_attribute(b, "legend", text.data, text.size);
	buffer_fini(&text);
}
