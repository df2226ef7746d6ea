/*
 * Writes the file that cProfile writes, for pstats, snakeviz, gprof2dot and tuna: a marshalled dict
 * from (file, line, function) to (primitive calls, calls, own time, cumulative time, callers). If
 * calls were not counted both numbers are 0, and pstats then leaves out the time per call. A caller
 * gets the time spent in its calls.
 *
 * Source: CPython's Python/marshal.c (the types used here have been the same since 3.4),
 * Lib/pstats.py.
 */
#include "output/export/exporter.h"

#include <errno.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/python/pstats.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

/* ---- marshal: each value follows its type, little-endian */

static void add_u32(struct buffer *b, char type, uint32_t value)
{
	uint8_t bytes[5] = { (uint8_t)type, (uint8_t)value, (uint8_t)(value >> 8),
			     (uint8_t)(value >> 16), (uint8_t)(value >> 24) };

	buffer_add(b, bytes, sizeof(bytes));
}

static void add_tuple(struct buffer *b, uint32_t size)
{
	add_u32(b, '(', size);
}

static void add_seconds(struct buffer *b, uint64_t ns)
{
	double seconds = (double)ns / 1e9;

	buffer_add_char(b, 'g');
	buffer_add(b, &seconds, sizeof(seconds));
}

static void add_text(struct buffer *b, const char *s, size_t n)
{
	struct buffer clean = { 0 };

	text_add_clean(&clean, s, n);
	add_u32(b, 'u', (uint32_t)clean.size);
	buffer_add(b, clean.data, clean.size);
	buffer_fini(&clean);
}

static void add_key(struct buffer *b, const struct tree_function *f)
{
	const char *file = pstats_file(f);

	add_tuple(b, 3);
	add_text(b, file, strlen(file));
	add_u32(b, 'i', pstats_line(f));
	add_text(b, f->name, pstats_name_size(f));
}

static void add_times(struct buffer *b, uint64_t calls, uint64_t self, uint64_t total)
{
	uint32_t nr = calls > INT32_MAX ? INT32_MAX : (uint32_t)calls;

	add_u32(b, 'i', nr);
	add_u32(b, 'i', nr);
	add_seconds(b, self);
	add_seconds(b, total);
}

static void write_functions(struct buffer *b, const struct pstats *s)
{
	buffer_add_char(b, '{');
	for (size_t i = 0; i < s->nr_functions; i++) {
		const struct pstats_function *f = &s->functions[i];

		add_key(b, f->function);
		add_tuple(b, 5);
		add_times(b, f->calls, f->self, f->total);
		buffer_add_char(b, '{');
		for (uint32_t k = 0; k < f->nr_edges; k++) {
			const struct pstats_edge *e = &s->edges[f->first_edge + k];

			if (e->caller == PSTATS_NO_CALLER)
				continue;
			add_key(b, s->functions[e->caller].function);
			add_tuple(b, 4);
			add_times(b, 0, e->self, e->total);
		}
		buffer_add_char(b, '0');
	}
	buffer_add_char(b, '0');
}

static int write_pstats(struct buffer *b, const struct profile *p)
{
	struct tree_opts opts = { 0 };
	struct pstats stats;
	struct tree *tree;
	int err = tree_new(p, &opts, &tree);

	if (err)
		return err;
	if (tree->info->unit != UNIT_NS) {
		tree_free(tree);
		return -EDOM;
	}
	pstats_init(&stats, p, tree);
	write_functions(b, &stats);
	pstats_fini(&stats);
	tree_free(tree);
	return 0;
}

const struct exporter export_pstats = {
	.name = "pstats",
	.suffix = ".pstats",
	.help = "pstats, snakeviz, gprof2dot: own and cumulative time; calls where they are "
		"counted",
	.write = write_pstats,
};
