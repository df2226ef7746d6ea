/* Each segment of a folder has a row with its cost; the sums are shown. */
#include "cli/info/info_cost.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/info/info_label.h"
#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/recorder_facts.h"

#define MAX_ROWS 15 /* rows of rates in the text */

/* A sum that overflows stays at the maximum. Returns false if there are no rows. */
static bool add_up(const struct profile *p, struct fact_cost *sum)
{
	size_t nr;
	const struct fact_cost *rows = facts_rows(p, FACT_COST, &nr);

	*sum = (struct fact_cost){ .kernel_known = 1 };
	for (size_t i = 0; i < nr; i++) {
		if (__builtin_add_overflow(sum->duration_ns, rows[i].duration_ns,
					   &sum->duration_ns))
			sum->duration_ns = UINT64_MAX;
		if (__builtin_add_overflow(sum->cpu_ns, rows[i].cpu_ns, &sum->cpu_ns))
			sum->cpu_ns = UINT64_MAX;
		if (__builtin_add_overflow(sum->kernel_ns, rows[i].kernel_ns, &sum->kernel_ns))
			sum->kernel_ns = UINT64_MAX;
		if (!rows[i].kernel_known)
			sum->kernel_known = 0;
		if (sum->memory_bytes < rows[i].memory_bytes)
			sum->memory_bytes = rows[i].memory_bytes;
	}
	return nr && sum->duration_ns;
}

static double percent(uint64_t ns, uint64_t of_ns)
{
	return 100 * (double)ns / (double)of_ns;
}

void info_cost_text(struct buffer *b, const struct profile *p)
{
	struct fact_cost c;

	if (!add_up(p, &c))
		return;
	buffer_printf(info_label(b, "cost"), "%.2f%% of a CPU by the recorder",
		      percent(c.cpu_ns, c.duration_ns));
	if (c.kernel_known)
		buffer_printf(b, ", %.2f%% by its BPF programs",
			      percent(c.kernel_ns, c.duration_ns));
	buffer_printf(b, ", at most %.1f MiB of memory", (double)c.memory_bytes / (1 << 20));
	if (!c.kernel_known)
		buffer_add_string(b, "; what it runs in the kernel was not counted");
	buffer_add_char(b, '\n');
}

static const char *const reasons[][2] = {
	[0] = { "unknown", "for a reason that this version does not know" },
	[RATE_TRIGGERED] = { "trigger", "a trigger fired" },
	[RATE_CALM] = { "calm", "the time after a trigger was over" },
	[RATE_OVER_LIMIT] = { "over-limit", "recording cost" },
	[RATE_IN_LIMIT] = { "in-limit", "recording cost" },
};
_Static_assert(sizeof(reasons) / sizeof(*reasons) == NR_RATE_REASONS, "each has words");

static uint64_t reason_of(const struct fact_rate *row)
{
	return row->reason < NR_RATE_REASONS ? row->reason : 0;
}

static void add_time(struct buffer *b, const struct profile *p, uint64_t time_ns)
{
	uint64_t realtime = p->meta.start_realtime_ns + (time_ns - p->meta.start_ns);
	time_t s = (time_t)(realtime / 1000000000);
	char when[64] = "";
	struct tm tm;

	if (localtime_r(&s, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm);
	buffer_add_string(b, when);
}

void info_rates_text(struct buffer *b, const struct profile *p)
{
	size_t nr;
	const struct fact_rate *rows = facts_rows(p, FACT_RATE, &nr);

	for (size_t i = 0; i < nr && i < MAX_ROWS; i++) {
		info_label(b, i ? "" : "rates");
		add_time(b, p, rows[i].time_ns);
		buffer_printf(b, "  %" PRIu64 " Hz: %s", rows[i].freq_hz,
			      reasons[reason_of(&rows[i])][1]);
		if (rows[i].limit_ppm)
			buffer_printf(b, " %.2f%% of a CPU, the limit is %.2f%%",
				      (double)rows[i].cost_ppm / 1e4,
				      (double)rows[i].limit_ppm / 1e4);
		buffer_add_char(b, '\n');
	}
	if (nr > MAX_ROWS)
		buffer_printf(info_label(b, ""), "...  and %zu more: --json lists all\n",
			      nr - MAX_ROWS);
}

void info_cost_json(struct buffer *b, const struct profile *p)
{
	struct fact_cost c;
	size_t nr;
	const struct fact_rate *rows = facts_rows(p, FACT_RATE, &nr);

	buffer_add_string(b, ",\n  \"cost\": ");
	if (add_up(p, &c)) {
		buffer_printf(b, "{\"duration_s\": %.6f, \"cpu_s\": %.6f, \"bpf_s\": ",
			      (double)c.duration_ns / 1e9, (double)c.cpu_ns / 1e9);
		if (c.kernel_known)
			buffer_printf(b, "%.6f", (double)c.kernel_ns / 1e9);
		else
			buffer_add_string(b, "null");
		buffer_printf(b, ", \"memory_bytes\": %" PRIu64 "}", c.memory_bytes);
	} else {
		buffer_add_string(b, "null");
	}
	buffer_add_string(b, ",\n  \"rates\": [");
	for (size_t i = 0; i < nr; i++)
		buffer_printf(b,
			      "%s\n    {\"time_ns\": %" PRIu64 ", \"frequency_hz\": %" PRIu64
			      ", \"reason\": \"%s\", \"cost\": %.6f, \"limit\": %.6f}",
			      i ? "," : "", rows[i].time_ns, rows[i].freq_hz,
			      reasons[reason_of(&rows[i])][0], (double)rows[i].cost_ppm / 1e6,
			      (double)rows[i].limit_ppm / 1e6);
	buffer_add_char(b, ']');
}
