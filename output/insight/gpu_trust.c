/*
 * How far figures of GPUs can be trusted: what was not collected, what was lost, and the notes of
 * the recorder's library.
 */
#include "output/insight/gpu_report.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/text/text.h"

static const char *str(const struct profile *p, uint64_t id)
{
	return profile_str(p, (uint32_t)id);
}

/*
 * Counters of lost or failed records, by the names that gpu/tables.c and gpu/collect.c give them.
 */
static bool is_loss(const char *counter)
{
	static const char *const losses[] = {
		"activities without a time",
		"activities not begun at the end",
		"activities dropped by CUPTI",
		"activities discarded",
		"activities not readable",
		"activities without a launch",
		"activities summed without a stack",
		"stacks without room",
		"names without room",
		"ranges without room",
		"ranges not balanced",
		"ranges too deep",
		"records that found a ring full",
		"rings given up",
		"sums that made no sense",
		"activities too late for their place",
		"activities of graphs whose launch is not known",
		COUNTER_WITHOUT_RECORD,
		COUNTER_RUNS_LEFT_OUT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		if (!strcmp(counter, losses[i]))
			return true;
	return false;
}

void gpu_report_add_trust(struct buffer *b, const struct profile *p)
{
	const struct fact_gpu_counter *c;
	const struct fact_gpu_note *n;
	const char *separator = "lost: ";
	uint64_t missing = gpu_kinds_not_collected(p);
	size_t nr;

	if (missing) {
		buffer_add_string(b, "not collected (--gpu-kinds): ");
		gpu_kinds_add(b, missing);
		buffer_add_char(b, '\n');
	}
	c = facts_rows(p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		if (c[i].value && !strcmp(str(p, c[i].name), COUNTER_STILL_RUNNING))
			buffer_printf(b, "still running at the end: %llu, counted up to then\n",
				      (unsigned long long)c[i].value);
	for (size_t i = 0; i < nr; i++) {
		if (!c[i].value || !is_loss(str(p, c[i].name)))
			continue;
		buffer_printf(b, "%s%llu %s", separator, (unsigned long long)c[i].value,
			      str(p, c[i].name));
		separator = ", ";
	}
	if (*separator == ',')
		buffer_add_char(b, '\n');
	n = facts_rows(p, FACT_GPU_NOTE, &nr);
	for (size_t i = 0; i < nr; i++) {
		const char *text = str(p, n[i].text);

		buffer_printf(b, "note of process %llu: ", (unsigned long long)n[i].pid);
		text_add_clean(b, text, strlen(text));
		if (n[i].count > 1)
			buffer_printf(b, " (%llu times)", (unsigned long long)n[i].count);
		buffer_add_char(b, '\n');
	}
}

void gpu_report_add_trust_json(struct buffer *b, const struct profile *p)
{
	static const struct grid_column counters[] = { { "pid", "", false },
						       { "name", "", false },
						       { "value", "", false } };
	static const struct grid_column notes[] = {
		{ "pid", "", false },
		{ "code", "", false },
		{ "text", "", false },
		{ "count", "", false },
	};
	const struct fact_gpu_counter *c;
	const struct fact_gpu_note *n;
	struct grid g;
	size_t nr;

	c = facts_rows(p, FACT_GPU_COUNTER, &nr);
	grid_init(&g, counters, ARRAY_SIZE(counters));
	for (size_t i = 0; i < nr; i++) {
		grid_count(&g, c[i].pid);
		grid_text(&g, str(p, c[i].name));
		grid_count(&g, c[i].value);
	}
	buffer_add_string(b, "\"not_collected\": ");
	gpu_kinds_add_json(b, gpu_kinds_not_collected(p));
	buffer_add_string(b, ",\n\"counters\": ");
	grid_write_json(b, &g, 0);
	grid_fini(&g);
	n = facts_rows(p, FACT_GPU_NOTE, &nr);
	grid_init(&g, notes, ARRAY_SIZE(notes));
	for (size_t i = 0; i < nr; i++) {
		grid_count(&g, n[i].pid);
		grid_count(&g, n[i].code);
		grid_text(&g, str(p, n[i].text));
		grid_count(&g, n[i].count);
	}
	buffer_add_string(b, ",\n\"notes\": ");
	grid_write_json(b, &g, 0);
	grid_fini(&g);
}
