/* The table is that of sprof report, so scripts can read both. */
#include "cli/top/once.h"

#include <stdio.h>

#include "cli/options/terminal.h"
#include "cli/top/top_opts.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "output/live/answer.h"
#include "output/report/table.h"
#include "output/select/dimension.h"

void once_print(const struct live_answer *a, const struct top_opts *o)
{
	const struct terminal t = terminal_of(NULL);
	const struct table_opts opts = {
		.key = o->key,
		.max_rows = o->rows,
		.columns = t.columns,
		.unicode = t.unicode,
		.color = t.color,
		.heading = o->question.by->heading,
		.singular = o->question.by->name,
		.plural = o->question.by->plural,
	};
	struct buffer b = { 0 };

	if (a->why[0])
		log_warning("%s", a->why);
	if (!a->rows.tree)
		return;
	table_write(&b, a->rows.tree, &a->rows.summary, &opts);
	terminal_fold(&t, &b);
	fwrite(b.data, 1, b.size, stdout);
	buffer_fini(&b);
}
