/*
 * Writes trace events for Perfetto and chrome://tracing: samples as spans (sample_spans.c), and GPU
 * work and NVTX ranges as they ran (chrome_gpu.c).
 */
#include "output/export/exporter.h"

#include <inttypes.h>

#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "output/export/chrome_gpu.h"
#include "output/export/sample_spans.h"
#include "output/text/text.h"
#include "output/tree/ranking.h"

/* Readers take the category "kernel" for GPU work, so the Linux kernel gets another name. */
static const char *category(uint8_t kind)
{
	return kind == FUNCTION_KERNEL ? "linux-kernel" : ranking_kind_name(kind);
}

static int write_chrome(struct buffer *b, const struct profile *p)
{
	const struct sample_spans_opts spans = { .pid = PROFILE_NONE, .category = category };
	const char *separator = "";
	int err;

	buffer_add_string(
		b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"creator\":\"sprof " SPROF_VERSION
		   "\",\"command\":");
	text_add_json(b, profile_str(p, p->meta.command));
	buffer_printf(b, ",\"start_ns\":%" PRIu64 ",\"gpu_activities_left_out\":%" PRIu64,
		      p->meta.start_ns, chrome_gpu_left_out(p));
	buffer_add_string(b, "},\n\"traceEvents\":[\n");
	err = sample_spans_add(b, p, &spans, &separator);
	if (err)
		return err;
	chrome_gpu_add(b, p, separator);
	buffer_add_string(b, "\n]}\n");
	return 0;
}

const struct exporter export_chrome = {
	.name = "chrome",
	.suffix = ".trace.json",
	.help = "Perfetto, chrome://tracing: samples as spans of time, GPU work as it ran",
	.write = write_chrome,
};
