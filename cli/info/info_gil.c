/*
 * Adds up, by thread, the time that a Python program held its interpreter lock or waited for it.
 * Shares are of the time for which that is known, so native programs in the same recording do not
 * count.
 */
#include "cli/info/info_gil.h"

#include <inttypes.h>

#include "cli/info/info.h"
#include "cli/info/info_label.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/number.h"

/* "GIL         held 48%, waited for 30%, released 22% of 12.3 s in Python processes" */
void info_gil_text(struct buffer *b, const struct info *info)
{
	const struct gil_sums *gil = &info->gil;
	const struct {
		const char *text;
		uint64_t part;
	} parts[] = {
		{ "held ", gil->held },
		{ ", waited for ", gil->waiting },
		{ ", released ", gil->released },
		{ ", no thread of Python's ", gil->no_thread },
	};
	uint64_t whole = gil->held + gil->waiting + gil->released + gil->no_thread;

	if (!whole)
		return;
	info_label(b, "GIL");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (i == 3 && !parts[i].part)
			continue;
		buffer_add_string(b, parts[i].text);
		number_add_percent(b, parts[i].part, whole);
	}
	buffer_add_string(b, " of ");
	number_add_value(b, info->gil_column, whole);
	buffer_printf(b, " of %s\n", column_table[info->gil_column].title);
}

/* Values have the unit of the column that the text names. Null if the lock's state is not known. */
void info_gil_json(struct buffer *b, const struct info *info)
{
	const struct gil_sums *gil = &info->gil;

	if (!(gil->held | gil->waiting | gil->released | gil->no_thread)) {
		buffer_add_string(b, ",\n  \"gil\": null");
		return;
	}
	buffer_printf(b,
		      ",\n  \"gil\": {\"held\": %" PRIu64 ", \"waited_for\": %" PRIu64
		      ", \"released\": %" PRIu64 ", \"no_thread\": %" PRIu64
		      ", \"unknown\": %" PRIu64 "}",
		      gil->held, gil->waiting, gil->released, gil->no_thread, gil->unknown);
}
