/*
 * Writes the table of samples inside kernels. A row is a kernel, a place and a reason, in one
 * process; a place is a source line, or an instruction without one. Shares are of samples, which
 * say nothing of how long a kernel ran: that is in the table of GPU work.
 */
#include "output/kernels/stalls_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/base/path.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/text/number.h"

enum { VERSION = 1 };

struct place {
	const struct fact_gpu_pc *of; /* one of the rows that are summed here */
	uint64_t samples, idle_samples;
	uint64_t kernel_samples; /* of the whole kernel */
};

static bool has_line(const struct fact_gpu_pc *f)
{
	return f->line_state == GPU_LINE_KNOWN;
}

static int by_kernel(const struct fact_gpu_pc *x, const struct fact_gpu_pc *y)
{
	return ORDER(x->pid, y->pid) ?: ORDER(x->kernel, y->kernel);
}

/* Compares by kernel, reason and place. */
static int by_place(const void *a, const void *b)
{
	const struct fact_gpu_pc *x = ((const struct place *)a)->of;
	const struct fact_gpu_pc *y = ((const struct place *)b)->of;
	const uint64_t keys[][2] = {
		{ x->stall, y->stall },
		{ has_line(x), has_line(y) },
		{ has_line(x) ? x->file : x->cubin, has_line(y) ? y->file : y->cubin },
		{ has_line(x) ? x->line : x->pc, has_line(y) ? y->line : y->pc },
	};
	int order = by_kernel(x, y);

	for (size_t i = 0; !order && i < sizeof(keys) / sizeof(*keys); i++)
		order = ORDER(keys[i][0], keys[i][1]);
	return order;
}

static int by_samples(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return ORDER(y->kernel_samples, x->kernel_samples) ?: by_kernel(x->of, y->of)
	       ?: ORDER(y->samples, x->samples) ?: by_place(a, b);
}

/* Adds up neighbours that by_place() calls equal; returns how many rows are left. */
static size_t merge(struct place *places, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (kept && !by_place(&places[kept - 1], &places[i])) {
			places[kept - 1].samples += places[i].samples;
			places[kept - 1].idle_samples += places[i].idle_samples;
		} else {
			places[kept++] = places[i];
		}
	}
	return kept;
}

/* Rows of one kernel follow one another. */
static void sum_kernels(struct place *places, size_t nr)
{
	for (size_t first = 0, end; first < nr; first = end) {
		uint64_t sum = 0;

		for (end = first; end < nr && !by_kernel(places[first].of, places[end].of); end++)
			sum += places[end].samples;
		for (size_t i = first; i < end; i++)
			places[i].kernel_samples = sum;
	}
}

/* The caller frees what is returned. */
static struct place *find_places(const struct profile *p, size_t *ret_nr, uint64_t *ret_samples)
{
	const struct fact_gpu_pc *rows;
	struct place *places;
	size_t nr;

	rows = facts_rows(p, FACT_GPU_PC, &nr);
	places = xcalloc(nr + 1, sizeof(*places));
	*ret_samples = 0;
	for (size_t i = 0; i < nr; i++) {
		places[i] = (struct place){ .of = &rows[i],
					    .samples = rows[i].samples,
					    .idle_samples = rows[i].idle_samples };
		*ret_samples += rows[i].samples;
	}
	qsort(places, nr, sizeof(*places), by_place);
	nr = merge(places, nr);
	sum_kernels(places, nr);
	qsort(places, nr, sizeof(*places), by_samples);
	*ret_nr = nr;
	return places;
}

static void add_place(struct grid *g, const struct profile *p, const struct fact_gpu_pc *f)
{
	struct buffer text = { 0 };

	if (has_line(f))
		buffer_printf(&text, "%s:%" PRIu64,
			      path_base_name(profile_str(p, (uint32_t)f->file)), f->line);
	else
		buffer_printf(&text, "pc+0x%" PRIx64, f->pc);
	grid_text(g, buffer_cstring(&text));
	buffer_fini(&text);
	if (has_line(f)) {
		grid_text(g, profile_str(p, (uint32_t)f->file));
		grid_count(g, f->line);
		grid_none(g);
	} else {
		grid_none(g);
		grid_none(g);
		grid_count(g, f->pc);
	}
}

static void fill(struct grid *g, const struct profile *p, const struct place *places, size_t nr,
		 uint64_t all)
{
	for (size_t i = 0; i < nr; i++) {
		const struct place *l = &places[i];

		grid_share(g, l->samples, all);
		grid_share(g, l->samples, l->kernel_samples);
		grid_count(g, l->samples);
		grid_share(g, l->idle_samples, l->samples);
		grid_count(g, l->idle_samples);
		grid_count(g, l->kernel_samples);
		grid_text(g, profile_str(p, (uint32_t)l->of->stall));
		add_place(g, p, l->of);
		grid_count(g, l->of->pid);
		grid_text(g, profile_str(p, (uint32_t)l->of->kernel));
	}
}

/* What the table lacks. */
static const struct {
	const char *key, *counter, *words;
} missing[] = {
	{ "dropped", COUNTER_PC_DROPPED, "samples were dropped by the hardware" },
	{ "foreign", COUNTER_PC_FOREIGN, "samples were in kernels that are not the program's" },
	{ "no_room", COUNTER_PC_NO_ROOM, "samples found no room in the table that sprof keeps" },
	{ "buffer_full", COUNTER_PC_FULL,
	  "times the hardware's buffer was full, and an unknown number of samples was lost" },
};
#define NR_MISSING (sizeof(missing) / sizeof(*missing))

static uint64_t without_lines(const struct place *places, size_t nr)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < nr; i++)
		samples += has_line(places[i].of) ? 0 : places[i].samples;
	return samples;
}

static void add_notes(struct buffer *b, const struct profile *p, uint64_t all, uint64_t no_line)
{
	buffer_printf(b, "%" PRIu64 " samples of warps inside kernels\n", all);
	for (size_t i = 0; i < NR_MISSING; i++) {
		uint64_t n = facts_count(p, missing[i].counter);

		if (n)
			buffer_printf(b, "%" PRIu64 " %s\n", n, missing[i].words);
	}
	if (no_line) {
		number_add_percent(b, no_line, all);
		buffer_add_string(b, " of the samples have no source line (nvcc -lineinfo): pc is "
				     "the place in the kernel\n");
	}
	buffer_add_string(b, "Idle: the share in cycles in which the scheduler issued nothing\n\n");
}

static void add_json(struct buffer *b, const struct profile *p, uint64_t all, uint64_t no_line)
{
	buffer_printf(b,
		      "{\n\"version\": %d,\n\"report\": \"stalls\",\n\"samples\": %" PRIu64
		      ",\n\"without_line\": %" PRIu64 ",\n",
		      VERSION, all, no_line);
	for (size_t i = 0; i < NR_MISSING; i++)
		buffer_printf(b, "\"%s\": %" PRIu64 ",\n", missing[i].key,
			      facts_count(p, missing[i].counter));
}

bool stalls_report_write(struct buffer *b, const struct profile *p,
			 const struct grid_report_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "share", "Share", false },	 { "kernel_share", "Of kernel", false },
		{ "samples", "Samples", false }, { "idle_share", "Idle", false },
		{ "idle_samples", NULL, false }, { "kernel_samples", NULL, false },
		{ "stall", "Reason", true },	 { NULL, "Where", true },
		{ "file", NULL, true },		 { "line", NULL, false },
		{ "pc", NULL, false },		 { "pid", NULL, false },
		{ "kernel", "Kernel", true },
	};
	static const char *const spare[] = { "share", "idle_share", NULL };
	uint64_t all;
	size_t nr;
	struct place *places = find_places(p, &nr, &all);
	struct grid g;

	if (nr) {
		grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
		fill(&g, p, places, nr, all);
		g.spare = spare;
	}
	if (nr && opts->json) {
		add_json(b, p, all, without_lines(places, nr));
		buffer_add_string(b, "\"rows\": ");
		grid_write_json(b, &g, opts->max_rows);
		buffer_add_string(b, "\n}\n");
	} else if (nr) {
		add_notes(b, p, all, without_lines(places, nr));
		grid_write_text(b, &g, opts->max_rows);
	}
	if (nr)
		grid_fini(&g);
	free(places);
	return nr > 0;
}
