/* A row has the process, the function or allocator, the reason, and the file of a function. */
#include "cli/info/info_unhooked.h"

#include <inttypes.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/text/text.h"

void info_unhooked_text(struct buffer *b, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ NULL, "process", false },
		{ NULL, "what", true },
		{ NULL, "why", true },
		{ NULL, "file", true },
	};
	const struct fact_memory_unhooked *rows;
	struct grid g;
	size_t nr;

	rows = facts_rows(p, FACT_MEMORY_UNHOOKED, &nr);
	if (!nr)
		return;
	buffer_add_string(b, "\nNot counted, because it could not be hooked\n");
	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < nr; i++) {
		grid_count(&g, (uint32_t)rows[i].pid);
		text_add_line(grid_cell(&g), profile_str(p, (uint32_t)rows[i].name));
		text_add_line(grid_cell(&g), profile_str(p, (uint32_t)rows[i].why));
		text_add_line(grid_cell(&g), profile_str(p, (uint32_t)rows[i].path));
	}
	grid_write_text(b, &g, 0);
	grid_fini(&g);
}

void info_unhooked_json(struct buffer *b, const struct profile *p)
{
	const struct fact_memory_unhooked *rows;
	size_t nr;

	rows = facts_rows(p, FACT_MEMORY_UNHOOKED, &nr);
	buffer_add_string(b, ",\n  \"unhooked\": [");
	for (size_t i = 0; i < nr; i++) {
		buffer_printf(b, "%s\n    {\"pid\": %" PRIu32 ", \"name\": ", i ? "," : "",
			      (uint32_t)rows[i].pid);
		text_add_json(b, profile_str(p, (uint32_t)rows[i].name));
		text_add_json_field(b, ", \"path\": ", profile_str(p, (uint32_t)rows[i].path));
		text_add_json_field(b, ", \"why\": ", profile_str(p, (uint32_t)rows[i].why));
		buffer_add_char(b, '}');
	}
	buffer_add_char(b, ']');
}
