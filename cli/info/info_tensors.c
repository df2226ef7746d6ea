/* The numbers are those of the allocators, so they include blocks from before the recording. */
#include "cli/info/info_tensors.h"

#include <inttypes.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/process_end.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/text/text.h"

void info_tensors_text(struct buffer *b, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ NULL, "device", true },     { NULL, "process", false },
		{ NULL, "held", false },      { NULL, "at first", false },
		{ NULL, "peak", false },      { NULL, "reserved", false },
		{ NULL, "allocated", false }, { NULL, "blocks", false },
		{ NULL, "recorded", true },
	};
	const struct fact_tensor_memory *rows;
	struct grid g;
	size_t nr;

	rows = facts_rows(p, FACT_TENSOR_MEMORY, &nr);
	if (!nr)
		return;
	buffer_add_string(b, "\nMemory of tensors, as PyTorch's allocators say\n");
	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < nr; i++) {
		text_add_line(grid_cell(&g), profile_str(p, (uint32_t)rows[i].name));
		grid_count(&g, rows[i].pid);
		grid_bytes(&g, rows[i].allocated_bytes);
		grid_bytes(&g, rows[i].before_bytes);
		grid_bytes(&g, rows[i].peak_bytes);
		grid_bytes(&g, rows[i].reserved_bytes);
		grid_bytes(&g, rows[i].bytes);
		grid_count(&g, rows[i].blocks);
		if (rows[i].interval > 1) {
			buffer_add_string(grid_cell(&g), "one in ");
			number_add_bytes(&g.text, rows[i].interval);
		} else {
			buffer_add_string(grid_cell(&g), "every block");
		}
		if (rows[i].lost)
			buffer_printf(&g.text, ", %" PRIu64 " lost", rows[i].lost);
	}
	grid_write_text(b, &g, 0);
	grid_fini(&g);
}

void info_tensors_json(struct buffer *b, const struct profile *p)
{
	const struct fact_tensor_memory *rows;
	size_t nr;

	rows = facts_rows(p, FACT_TENSOR_MEMORY, &nr);
	buffer_add_string(b, ",\n  \"tensors\": [");
	for (size_t i = 0; i < nr; i++) {
		buffer_printf(b, "%s\n    {\"pid\": %" PRIu64 ", \"device\": ", i ? "," : "",
			      rows[i].pid);
		text_add_json(b, profile_str(p, (uint32_t)rows[i].name));
		buffer_printf(b,
			      ", \"interval\": %" PRIu64 ", \"lost\": %" PRIu64
			      ", \"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64
			      ", \"before_bytes\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
			      ", \"peak_bytes\": %" PRIu64 ", \"reserved_bytes\": %" PRIu64
			      ", \"peak_reserved_bytes\": %" PRIu64 "}",
			      rows[i].interval, rows[i].lost, rows[i].blocks, rows[i].bytes,
			      rows[i].before_bytes, rows[i].allocated_bytes, rows[i].peak_bytes,
			      rows[i].reserved_bytes, rows[i].peak_reserved_bytes);
	}
	buffer_add_char(b, ']');
}
