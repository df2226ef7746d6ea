/*
 * Joins the parts, which the build embeds as strings. Their order matters: a part uses at its top
 * level only what earlier parts define.
 */
#include "output/flame/script.h"

#include <stddef.h>
#include <string.h>

#include "core/base/buffer.h"
#include "output/flame/color.h"
#include "output/flame/web/flame.css.h"
#include "output/flame/web/flame.js.h"
#include "output/flame/web/flame_data.js.h"
#include "output/flame/web/flame_draw.js.h"
#include "output/flame/web/flame_large.js.h"
#include "output/flame/web/flame_map.js.h"
#include "output/flame/web/flame_read.js.h"
#include "output/flame/web/flame_search.js.h"
#include "output/flame/web/flame_start.js.h"
#include "output/flame/web/flame_state.js.h"
#include "output/flame/web/flame_text.js.h"
#include "output/flame/web/flame_tree.js.h"
#include "output/flame/web/page.css.h"
#include "output/flame/web/page.js.h"
#include "output/flame/web/page_calls.js.h"
#include "output/flame/web/page_calls_view.js.h"
#include "output/flame/web/page_heat.js.h"
#include "output/flame/web/page_memory.js.h"
#include "output/flame/web/page_table.js.h"
#include "output/flame/web/page_threads.js.h"

/* Leaves out lines that are comments, empty lines, and tabs at the start of lines. */
static void add_part(struct buffer *b, const char *text)
{
	bool comment = false;

	while (*text) {
		const char *start = text + strspn(text, "\t"), *end = strchrnul(start, '\n');
		size_t n = (size_t)(end - start);

		comment |= !strncmp(start, "/*", 2);
		if (!comment && n) {
			buffer_add(b, start, n);
			buffer_add_char(b, '\n');
		}
		if (comment && n >= 2 && !memcmp(end - 2, "*/", 2))
			comment = false;
		text = *end ? end + 1 : end;
	}
}

void script_add(struct buffer *b, bool page)
{
	buffer_add_string(b, "(function () {\n\"use strict\";\n");
	add_part(b, flame_data_js);
	add_part(b, flame_large_js);
	add_part(b, flame_text_js);
	add_part(b, flame_tree_js);
	add_part(b, flame_draw_js);
	add_part(b, flame_map_js);
	add_part(b, flame_search_js);
	add_part(b, flame_state_js);
	add_part(b, flame_js);
	add_part(b, flame_read_js);
	if (page) {
		add_part(b, page_memory_js);
		add_part(b, page_table_js);
		add_part(b, page_heat_js);
		add_part(b, page_threads_js);
		add_part(b, page_calls_js);
		add_part(b, page_calls_view_js);
		add_part(b, page_js);
	}
	add_part(b, flame_start_js);
	buffer_add_string(b, "})();\n");
}

void script_add_style(struct buffer *b, bool page, bool changes)
{
	add_part(b, flame_css);
	if (page)
		add_part(b, page_css);
	color_add_css(b);
	if (changes)
		color_add_change_css(b);
}
