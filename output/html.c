/*
 * Writes the page. What is in it is allowed by hash; everything else, the network above all, is not.
 */
#include "output/html.h"

#include <string.h>

#include "core/buffer.h"
#include "core/column.h"
#include "output/base64.h"
#include "output/color.h"
#include "output/diff_text.h"
#include "output/script.h"
#include "output/sha256.h"
#include "output/svg_data.h"
#include "output/text.h"
#include "output/tree.h"

static void add_hash(struct buffer *b, const char *directive, const struct buffer *of)
{
	unsigned char hash[SHA256_SIZE];

	sha256(of->data, of->size, hash);
	buffer_printf(b, "; %s 'sha256-", directive);
	base64_add(b, hash, sizeof(hash));
	buffer_add_char(b, '\'');
}

static void add_head(struct buffer *b, const char *title, const struct buffer *style,
		     const struct buffer *script)
{
	buffer_add_string(
		b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'");
	add_hash(b, "style-src", style);
	if (script->size)
		add_hash(b, "script-src", script);
	buffer_add_string(b, "; base-uri 'none'; form-action 'none'\">\n"
			     "<meta name=\"viewport\" content=\"width=device-width\">\n"
			     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	text_add_xml(b, title, strlen(title));
	buffer_add_string(b, "</title>\n<style>");
	buffer_add(b, style->data, style->size);
	buffer_add_string(b, "</style>\n</head>\n");
}

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

/* A line per kind of code in the tree: its class and name. */
static void add_legend_kind(int kind, const char *class, const char *name, void *arg)
{
	struct legend *l = arg;

	for (size_t i = 1; i < l->tree->functions.nr; i++) {
		if (l->tree->functions.list[i].kind == kind) {
			buffer_printf(l->b, "%s %s;", class, name);
			return;
		}
	}
}

/* What a picture of a column says beside its boxes. */
static void add_column_facts(struct buffer *b, const struct tree *tree, const struct summary *s)
{
	struct buffer text = { 0 };
	struct legend legend = { &text, tree };

	add_attribute(b, "name", s->info->name, strlen(s->info->name));
	add_attribute(b, "title", s->info->title, strlen(s->info->title));
	summary_add_origin(&text, s);
	add_attribute(b, "origin", text.data, text.size);
	text.size = 0;
	summary_add_trust(&text, s);
	add_attribute(b, "facts", text.data, text.size);
	text.size = 0;
	color_each_kind(add_legend_kind, &legend);
	add_attribute(b, "legend", text.data, text.size);
	buffer_fini(&text);
}

/* The data of a column; where there are several, with its name. */
static void add_data(struct buffer *b, const struct tree *tree, const struct summary *summary,
		     const struct profile *p, const struct diff *diff, bool several)
{
	buffer_add_string(b, "<script class=\"data\" type=\"application/octet-stream\"");
	if (several)
		add_column_facts(b, tree, summary);
	buffer_add_char(b, '>');
	svg_data_add(b, tree, diff, p);
	buffer_add_string(b, "</script>\n");
}

void html_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		const struct profile *p, const struct html_column *others, size_t nr_others,
		const struct svg_opts *opts)
{
	struct buffer style = { 0 }, script = { 0 };

	script_add_style(&style, true, opts->diff != NULL);
	if (!opts->without_script)
		script_add(&script, true);
	add_head(b, opts->title, &style, &script);
	buffer_add_string(b, "<body>\n<main class=\"picture\">\n");
	svg_add(b, tree, summary, opts);
	buffer_add_string(b, "</main>\n");
	if (!opts->without_script) {
		add_data(b, tree, summary, p, opts->diff ? opts->diff->diff : NULL, nr_others > 0);
		for (size_t i = 0; i < nr_others; i++)
			add_data(b, others[i].tree, &others[i].summary, p, NULL, true);
		buffer_add_string(b, "<script>");
		buffer_add(b, script.data, script.size);
		buffer_add_string(b, "</script>\n");
	}
	buffer_add_string(b, "</body>\n</html>\n");
	buffer_fini(&style);
	buffer_fini(&script);
}
