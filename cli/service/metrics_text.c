/* Names follow Prometheus' rules: a base unit, and _total for what only grows. */
#include "cli/service/metrics_text.h"

#include <inttypes.h>

#include "core/base/buffer.h"

static void head(struct buffer *b, const char *name, const char *type, const char *help)
{
	buffer_printf(b, "# HELP sprof_%s %s\n# TYPE sprof_%s %s\n", name, help, name, type);
}

static void counter(struct buffer *b, const char *name, uint64_t value, const char *help)
{
	head(b, name, "counter", help);
	buffer_printf(b, "sprof_%s %" PRIu64 "\n", name, value);
}

static void gauge(struct buffer *b, const char *name, uint64_t value, const char *help)
{
	head(b, name, "gauge", help);
	buffer_printf(b, "sprof_%s %" PRIu64 "\n", name, value);
}

static void add_cost(struct buffer *b, const struct own_cost *cost)
{
	head(b, "cpu_seconds_total", "counter",
	     "CPU time of the recorder with its helpers, and of its BPF programs.");
	buffer_printf(b, "sprof_cpu_seconds_total{part=\"recorder\"} %.6f\n",
		      (double)cost->cpu_ns / 1e9);
	if (cost->kernel_known)
		buffer_printf(b, "sprof_cpu_seconds_total{part=\"bpf\"} %.6f\n",
			      (double)cost->kernel_ns / 1e9);
	gauge(b, "resident_memory_bytes", cost->memory_bytes, "Memory of the recorder.");
}

/* The names of sources are ours, so nothing is escaped. */
void metrics_text_add(struct buffer *b, const struct recorder_counters *c)
{
	uint64_t nr_incomplete = 0;

	for (int i = 0; i < NR_MARKERS; i++)
		nr_incomplete += c->stats.nr_incomplete[i];
	head(b, "info", "gauge", "Version of sprof, and how it samples.");
	buffer_printf(b, "sprof_info{version=\"%s\",source=\"%s\"} 1\n", SPROF_VERSION, c->source);
	counter(b, "samples_total", c->stats.nr_samples, "Samples taken and kept.");
	counter(b, "lost_samples_total", c->nr_lost, "Samples taken and lost.");
	counter(b, "incomplete_samples_total", nr_incomplete, "Samples with an incomplete stack.");
	counter(b, "throttled_total", c->stats.nr_throttled,
		"Times that the kernel throttled sampling.");
	counter(b, "limits_total", c->stats.nr_limits, "Times that a table was full.");
	counter(b, "written_bytes_total", c->written_bytes, "Bytes written to recordings.");
	gauge(b, "frequency_hertz", c->freq_hz, "Samples per second and CPU, as asked for now.");
	if (c->is_continuous) {
		counter(b, "segments_total", c->nr_segments, "Segments that have ended.");
		counter(b, "triggers_total", c->nr_triggers, "Times that a trigger fired.");
	}
	add_cost(b, &c->cost);
	if (c->has_spool) {
		gauge(b, "spool_bytes", c->spool_bytes, "Bytes on disk that wait to be pushed.");
		gauge(b, "spool_requests", c->nr_spooled, "Requests that wait to be pushed.");
	}
}
