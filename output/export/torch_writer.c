/*
 * Writes traces in the schema of torch.profiler, for the programs that read those: Holistic Trace
 * Analysis and the PyTorch plugin of TensorBoard. A file holds one process, a rank of a job.
 */
#include "output/export/exporter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/export/chrome_gpu.h"
#include "output/export/sample_spans.h"
#include "output/export/torch_gpu.h"
#include "output/export/torch_parts.h"
#include "output/text/text.h"
#include "output/tree/ranking.h"

/*
 * Times count from a multiple of three months of Unix time, as in torch.profiler, so that ranks
 * agree on it and a double still holds each ns.
 */
#define BASE_NS (7889238ull * 1000000000)

static const char *category(uint8_t kind)
{
	switch (kind) {
	case FUNCTION_PYTHON: return "python_function";
	case FUNCTION_KERNEL: return "linux-kernel";
	case FUNCTION_GPU: return "gpu";
	default: return ranking_kind_name(kind);
	}
}

static void add_python_ids(struct buffer *b, uint8_t kind, uint64_t number, uint64_t parent)
{
	if (kind != FUNCTION_PYTHON)
		return;
	buffer_printf(b, ",\"args\":{\"Python id\":%" PRIu64 ",\"Python parent id\":", number);
	if (parent)
		buffer_printf(b, "%" PRIu64 "}", parent);
	else
		buffer_add_string(b, "null}");
}

static void add_devices(struct buffer *b, const struct profile *p, uint32_t pid)
{
	const struct fact_gpu_device *d;
	const char *separator = "";
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	for (size_t i = 0; i < nr; i++) {
		if ((uint32_t)d[i].pid != pid)
			continue;
		buffer_printf(b, "%s\n{\"id\":%" PRIu64 ",\"name\":", separator, d[i].device);
		text_add_json(b, profile_str(p, (uint32_t)d[i].name));
		buffer_printf(b,
			      ",\"totalGlobalMem\":%" PRIu64 ",\"computeMajor\":%" PRIu64
			      ",\"computeMinor\":%" PRIu64,
			      d[i].memory_bytes, d[i].cc_major, d[i].cc_minor);
		buffer_printf(b,
			      ",\"maxThreadsPerMultiprocessor\":%" PRIu64
			      ",\"regsPerMultiprocessor\":%" PRIu64 ",\"warpSize\":%" PRIu64
			      ",\"sharedMemPerMultiprocessor\":%" PRIu64 ",\"numSms\":%" PRIu64 "}",
			      d[i].max_warps_per_sm * d[i].warp_threads, d[i].max_registers_per_sm,
			      d[i].warp_threads, d[i].max_shared_per_sm, d[i].nr_sms);
		separator = ",";
	}
}

static bool has_nccl(const struct profile *p, uint32_t pid)
{
	const struct fact_collective *c;
	size_t nr;

	c = facts_rows(p, FACT_COLLECTIVE, &nr);
	for (size_t i = 0; i < nr; i++)
		if ((uint32_t)c[i].pid == pid && c[i].way == COLLECTIVE_GPU)
			return true;
	return false;
}

static void add_head(struct buffer *b, const struct profile *p, const struct torch_part *part,
		     uint64_t base_ns)
{
	buffer_add_string(b, "{\"schemaVersion\":1,\n\"deviceProperties\":[");
	add_devices(b, p, part->pid);
	buffer_printf(b,
		      "],\n\"distributedInfo\":{\"backend\":\"%s\",\"rank\":%" PRIu64
		      ",\"world_size\":%" PRIu64 "},\n",
		      has_nccl(p, part->pid) ? "nccl" : "", part->rank, part->nr_ranks);
	text_add_json_field(b,
			    "\"otherData\":{\"creator\":\"sprof " SPROF_VERSION "\",\"command\":",
			    profile_str(p, p->meta.command));
	buffer_printf(b,
		      ",\"gpu_activities_left_out\":%" PRIu64
		      "},\n\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":%" PRIu64
		      ",\n\"traceEvents\":[\n",
		      chrome_gpu_left_out(p), base_ns);
}

static int write_part(struct buffer *b, const struct profile *p, const struct torch_part *part)
{
	uint64_t base_ns = p->meta.start_realtime_ns / BASE_NS * BASE_NS;
	const struct sample_spans_opts spans = {
		.pid = part->pid,
		.own_tracks = true,
		.offset_ns = p->meta.start_realtime_ns - base_ns,
		.category = category,
		.add_args = add_python_ids,
	};
	struct torch_events events = {
		.b = b,
		.p = p,
		.separator = "",
		.pid = part->pid,
		.offset_ns = spans.offset_ns,
	};
	int err;

	add_head(b, p, part, base_ns);
	err = sample_spans_add(b, p, &spans, &events.separator);
	if (err)
		return err;
	if (part->pid != PROFILE_NONE)
		torch_gpu_add(&events);
	buffer_add_string(b, "\n]}\n");
	return 0;
}

static int write_torch(struct buffer *b, const struct profile *p)
{
	size_t nr;
	struct torch_part *parts = torch_parts(p, &nr);
	int err = nr > 1 ? -E2BIG : write_part(b, p, &parts[0]);

	free(parts);
	return err;
}

static int write_files(const struct profile *p,
		       int (*emit)(void *context, const char *name, struct buffer *b),
		       void *context)
{
	size_t nr;
	struct torch_part *parts = torch_parts(p, &nr);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		char *name = xasprintf("rank%" PRIu64 ".pt.trace.json.gz", parts[i].rank);
		struct buffer b = { 0 };

		err = write_part(&b, p, &parts[i]);
		if (!err)
			err = emit(context, name, &b);
		buffer_fini(&b);
		free(name);
	}
	free(parts);
	return err;
}

const struct exporter export_torch = {
	.name = "torch",
	.suffix = ".pt.trace.json",
	.help = "what torch.profiler writes: Holistic Trace Analysis, TensorBoard; -o DIR/ writes "
		"a file per process",
	.write = write_torch,
	.write_files = write_files,
};
