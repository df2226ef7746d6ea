/* A grid without headings, as wide as argp makes the list of options above it. */
#include "cli/options/help_list.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/report/grid.h"

enum { HELP_WIDTH = 79 };

void help_list_init(struct grid *list)
{
	static const struct grid_column columns[] = {
		{ NULL, "", true },
		{ NULL, "", true },
		{ NULL, "", true },
	};

	grid_init(list, columns, 3);
	list->max_width = HELP_WIDTH;
	list->indent = 2;
	list->folds = true;
}

void help_list_add(struct grid *list, const char *name, const char *detail, const char *help)
{
	grid_text(list, name);
	grid_text(list, detail);
	grid_text(list, help);
}

char *help_list_end(struct grid *list, const char *title, const char *rest)
{
	struct buffer b = { 0 };
	char *text;

	buffer_printf(&b, "%s:\n", title);
	grid_write_text(&b, list, 0);
	buffer_printf(&b, "\n%s", rest);
	text = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	grid_fini(list);
	return text;
}
