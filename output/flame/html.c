/*
 * Writes the page. Its content security policy allows the page's own script and style sheet by
 * their hashes, and nothing else, above all no network.
 */
#include "output/flame/html.h"

#include <string.h>

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

/* Adds the data of a column, with its texts if the page can switch columns. */
static void add_data(struct buffer *b, const struct tree *tree, const struct summary *summary,
		     const struct profile *p, const struct diff *diff, struct svg_data_nodes *nodes,
		     bool several)
{
	buffer_add_string(b, "<script class=\"data\" type=\"application/octet-stream\"");
	if (several)
		column_facts_add(b, tree, summary);
	buffer_add_char(b, '>');
	svg_data_add(b, tree, diff, p, nodes);
	buffer_add_string(b, "</script>\n");
}

static void add_script(struct buffer *b, const struct buffer *script)
{
	buffer_add_string(b, "<script>");
	buffer_add(b, script->data, script->size);
	buffer_add_string(b, "</script>\n");
}

/* A large tree: the script draws its outline while the browser reads what comes after it. */
static void add_large(struct buffer *b, const struct tree *tree, struct svg_data_nodes *nodes,
		      const struct buffer *script)
{
	buffer_add_string(b, "<script class=\"data\" type=\"application/octet-stream\">");
	svg_data_add_outline(b, tree);
	buffer_add_string(b, "</script>\n");
	add_script(b, script);
	buffer_add_string(b, "<script class=\"nodes\" type=\"application/octet-stream\">");
	svg_data_add_all_nodes(b, nodes);
	buffer_add_string(b, "</script>\n");
}

void html_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		const struct profile *p, const struct svg_column *others, size_t nr_others,
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
	if (p && !opts->diff) /* a diff would need two charts */
		memory_chart_add(b, p);
	if (!opts->without_script && !nr_others && svg_data_is_large(tree, opts->nodes)) {
		add_large(b, tree, opts->nodes, &script);
	} else if (!opts->without_script) {
		add_data(b, tree, summary, p, opts->diff ? opts->diff->diff : NULL, opts->nodes,
			 nr_others > 0);
		for (size_t i = 0; i < nr_others; i++)
			add_data(b, others[i].tree, &others[i].summary, p, NULL, NULL, true);
		add_script(b, &script);
	}
	buffer_add_string(b, "</body>\n</html>\n");
	buffer_fini(&style);
	buffer_fini(&script);
}
