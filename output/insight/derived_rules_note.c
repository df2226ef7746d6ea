/*
 * Lists the files with the most functions whose rules were derived: up to MAX_FILES, if they fit in
 * the line.
 */
#include "output/insight/derived_rules_note.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/base/path.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/text/text.h"

#define MAX_FILES 3
#define ROOM_FOR_REST 20 /* columns of ", 16384 files more" */

static int by_functions(const void *a, const void *b)
{
	const struct fact_derived_rules *x = a, *y = b;

	return ORDER(y->functions, x->functions) ?: ORDER(x->path, y->path);
}

static void add_file(struct buffer *b, const struct profile *p,
		     const struct fact_derived_rules *row, bool first)
{
	const char *path = path_base_name(profile_str(p, (uint32_t)row->path));

	if (!first)
		buffer_add_string(b, ", ");
	text_add_clean(b, path, strlen(path));
	buffer_printf(b, " (%" PRIu64, row->functions);
	if (first)
		buffer_add_string(b, row->functions == 1 ? " function" : " functions");
	buffer_add_char(b, ')');
}

void derived_rules_note_add(struct buffer *b, const struct profile *p, size_t columns)
{
	size_t nr, i = 0;
	const struct fact_derived_rules *rows = facts_rows(p, FACT_DERIVED_RULES, &nr);
	struct fact_derived_rules *sorted;
	struct buffer line = { 0 };

	if (!nr)
		return;
	sorted = xcalloc(nr, sizeof(*sorted));
	memcpy(sorted, rows, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), by_functions);
	buffer_add_string(&line, "Unwind rules read from machine code: ");
	for (; i < nr && i < MAX_FILES; i++) {
		size_t before = line.size, room = i + 1 < nr ? ROOM_FOR_REST : 0;

		add_file(&line, p, &sorted[i], !i);
		if (i && columns && text_columns(line.data, line.size) + room > columns) {
			line.size = before;
			break;
		}
	}
	buffer_add_char(b, '\n');
	buffer_add(b, line.data, line.size);
	if (i < nr)
		buffer_printf(b, ", %zu file%s more", nr - i, nr - i == 1 ? "" : "s");
	buffer_add_char(b, '\n');
	buffer_fini(&line);
	free(sorted);
}
