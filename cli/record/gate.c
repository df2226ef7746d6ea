/*
 * A sample_tee that wants only samples after the delay and inside a capture window. Facts always
 * pass.
 */
#include "cli/record/gate.h"

#include <stdlib.h>

#include "cli/gpu/record_gpu.h"
#include "cli/gpu/sample_tee.h"
#include "core/base/alloc.h"

struct record_gate {
	struct sample_tee *tee;
	uint64_t begin_ns;
	const struct record_gpu *gpu;
};

static bool wants(void *context, uint32_t pid, uint64_t time_ns)
{
	const struct record_gate *g = context;

	(void)pid;
	return time_ns >= g->begin_ns && record_gpu_captures(g->gpu, time_ns);
}

struct record_gate *record_gate_new(struct sink *to, uint64_t begin_ns,
				    const struct record_gpu *gpu)
{
	struct record_gate *g = xcalloc(1, sizeof(*g));

	g->begin_ns = begin_ns;
	g->gpu = gpu;
	g->tee = sample_tee_new(to, NULL, wants, g);
	return g;
}

void record_gate_begin(struct record_gate *g, uint64_t begin_ns)
{
	g->begin_ns = begin_ns;
}

void record_gate_free(struct record_gate *g)
{
	if (!g)
		return;
	sample_tee_free(g->tee);
	free(g);
}

struct sink *record_gate_sink(struct record_gate *g)
{
	return sample_tee_sink(g->tee);
}
