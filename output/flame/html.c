/*
 * Writes the page. Its content security policy allows the page's own script and style sheet by
 * their hashes, and nothing else, above all no network.
 */
#include "output/flame/html.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/codec/base64.h"
#include "output/flame/column_facts.h"
#include "output/report/diff_text.h"
#include "output/flame/memory_chart.h"
#include "output/flame/script.h"
#include "output/codec/sha256.h"
#include "output/flame/svg_data.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

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

/* A column as the script reads it. */
struct column {
	const struct tree *tree;
	const struct summary *summary;
	struct svg_data *data;
	bool large; /* its data is in two elements */
};

/* With `texts`: those of the column, between which the page can switch. */
static void add_data(struct buffer *b, const struct column *c, bool texts)
{
	buffer_add_string(b, "<script class=\"data\" type=\"application/octet-stream\"");
	if (texts)
		column_facts_add(b, c->tree, c->summary);
	buffer_add_char(b, '>');
	if (c->large)
		svg_data_add_outline(b, c->data);
	else
		svg_data_add(b, c->data);
	buffer_add_string(b, "</script>\n");
}

/* What the outline of a large tree leaves out. The browser reads it while the script draws. */
static void add_rest(struct buffer *b, const struct column *c, bool named)
{
	if (!c->large)
		return;
	buffer_add_string(b, "<script class=\"nodes\" type=\"application/octet-stream\"");
	if (named)
		column_facts_add_name(b, c->summary);
	buffer_add_char(b, '>');
	svg_data_add_rest(b, c->data);
	buffer_add_string(b, "</script>\n");
}

static void add_script(struct buffer *b, const struct buffer *script)
{
	buffer_add_string(b, "<script>");
	buffer_add(b, script->data, script->size);
	buffer_add_string(b, "</script>\n");
}

/* Adds the data of all columns around the script. A butterfly needs both halves at once. */
static void add_columns(struct buffer *b, struct column *columns, size_t nr, bool butterfly,
			const struct buffer *script)
{
	for (size_t i = 0; i < nr; i++) {
		columns[i].large = !butterfly && svg_data_is_large(columns[i].data);
		add_data(b, &columns[i], nr > 1);
	}
	add_script(b, script);
	for (size_t i = 0; i < nr; i++)
		add_rest(b, &columns[i], nr > 1);
}

static struct column *columns_new(const struct svg_column *first, const struct profile *p,
				  const struct svg_column *others, size_t nr_others,
				  const struct svg_opts *opts)
{
	struct column *columns = xcalloc(nr_others + 1, sizeof(*columns));

	for (size_t i = 0; i <= nr_others; i++) {
		const struct svg_column *from = i ? &others[i - 1] : first;
		const struct diff *diff = opts->diff && !i ? opts->diff->diff : NULL;

		columns[i] = (struct column){
			.tree = from->tree,
			.summary = &from->summary,
			.data = svg_data_new(from->tree, diff, p, i ? NULL : opts->nodes),
		};
	}
	return columns;
}

void html_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		const struct profile *p, const struct svg_column *others, size_t nr_others,
		const struct svg_opts *opts)
{
	const struct svg_column first = { .tree = tree, .summary = *summary };
	struct buffer style = { 0 }, script = { 0 };
	struct column *columns;

	script_add_style(&style, true, opts->diff != NULL);
	if (!opts->without_script)
		script_add(&script, true);
	add_head(b, opts->title, &style, &script);
	buffer_add_string(b, "<body>\n<main class=\"picture\">\n");
	svg_add(b, tree, summary, opts);
	buffer_add_string(b, "</main>\n");
	if (p && !opts->diff) /* a diff would need two charts */
		memory_chart_add(b, p);
	if (!opts->without_script) {
		columns = columns_new(&first, p, others, nr_others, opts);
		add_columns(b, columns, nr_others + 1, opts->below != NULL, &script);
		for (size_t i = 0; i <= nr_others; i++)
			svg_data_free(columns[i].data);
		free(columns);
	}
	buffer_add_string(b, "</body>\n</html>\n");
	buffer_fini(&style);
	buffer_fini(&script);
}
