/*
 * Checks shared by the fuzz targets of importers. They read any bytes; if the result is a profile,
 * its ids must be valid, its tree must add up, and its sums must survive an export to pprof.
 */
#ifndef SPROF_TESTS_FUZZ_IMPORTED_H
#define SPROF_TESTS_FUZZ_IMPORTED_H

#include <stdio.h>
#include <stdlib.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/export/exporter.h"
#include "output/codec/gzip.h"
#include "output/import/importer.h"
#include "output/tree/tree.h"

static struct profile *import_bytes(const struct importer *importer, const void *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)data, size, "rb") : NULL;
	struct profile *p = NULL;

	if (!f)
		return NULL;
	if (importer->read(f, "fuzz", &(struct import_opts){ 0 }, &p))
		p = NULL;
	fclose(f);
	return p;
}

static void check_ids(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->stack >= p->nr_stacks || s->column >= NR_COLUMNS ||
		    (s->thread != PROFILE_NONE && s->thread >= p->nr_threads))
			abort();
	}
	for (size_t i = 0; i < p->nr_stack_frames; i++)
		if (p->stack_frames[i] >= p->nr_frames && p->stack_frames[i] != PROFILE_NONE)
			abort();
	for (size_t i = 0; i < p->nr_locations; i++)
		if (p->locations[i].function >= p->nr_functions)
			abort();
}

/* The total of the tree, or 0 if the sums are too large for a tree. */
static uint64_t total_of(const struct profile *p)
{
	uint64_t total = 0, self = 0;
	struct tree *tree;

	if (tree_new(p, &(struct tree_opts){ 0 }, &tree))
		return 0;
	total = tree_total(tree, &tree->nodes[0]);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		self += tree_self(tree, &tree->nodes[i]);
	if (self != total)
		abort();
	tree_free(tree);
	return total;
}

static void check_through_pprof(const struct profile *p, uint64_t total)
{
	struct buffer packed = { 0 }, data = { 0 };
	struct profile *again;

	exporter_find("pprof")->write(&packed, p);
	if (gzip_expand(&data, packed.data, packed.size, 1u << 30))
		abort();
	again = import_bytes(&import_pprof, data.data, data.size);
	if (!again || total_of(again) != total)
		abort();
	profile_free(again);
	buffer_fini(&packed);
	buffer_fini(&data);
}

static int check_import(const struct importer *importer, const void *data, size_t size)
{
	struct profile *p;
	uint64_t total;

	log_set_level(LOG_QUIET);
	importer->is(data, size);
	p = import_bytes(importer, data, size);
	if (!p)
		return 0;
	check_ids(p);
	total = total_of(p);
	if (total)
		check_through_pprof(p, total);
	profile_free(p);
	return 0;
}

#endif
