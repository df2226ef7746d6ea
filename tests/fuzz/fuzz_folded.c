/*
 * Reads any text as collapsed stacks, builds a tree and checks its sums. The text that `fold`
 * prints of the tree must give the same tree again, and the picture must contain no markup or
 * control character of the input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/importer.h"
#include "output/export/collapsed_writer.h"
#include "output/tree/summary.h"
#include "output/flame/svg.h"
#include "output/tree/tree.h"

static struct tree *read_tree(const void *data, size_t size, struct profile **ret_profile)
{
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
	struct tree *tree = NULL;

	if (!f)
		return NULL;
	if (import_collapsed.read(f, "fuzz", &(struct import_opts){ 0 }, ret_profile) == 0 &&
	    tree_new(*ret_profile, &(struct tree_opts){ .without_modules = true }, &tree))
		abort();
	fclose(f);
	return tree;
}

static void check_sums(const struct tree *tree, const struct profile *p)
{
	uint64_t self = 0;

	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		self += tree_self(tree, &tree->nodes[i]);
	if (self != tree_total(tree, &tree->nodes[0]) || self != p->stats.nr_samples)
		abort();
}

static void check_read_back(const struct tree *tree)
{
	struct buffer text = { 0 };
	struct profile *p;
	struct tree *again;

	collapsed_write(&text, tree, false);
	again = read_tree(text.data, text.size, &p);
	/* A text whose counts are all 0 prints nothing. */
	if (!again != !tree_total(tree, &tree->nodes[0]) ||
	    (again && tree_total(again, &again->nodes[0]) != tree_total(tree, &tree->nodes[0])))
		abort();
	if (again) {
		tree_free(again);
		profile_free(p);
	}
	buffer_fini(&text);
}

static void check_picture(const struct tree *tree, const struct profile *p)
{
	struct summary summary;
	struct buffer b = { 0 };

	summary_init(&summary, p, tree, "");
	svg_write(&b, tree, &summary,
		  &(struct svg_opts){ .title = "a]]>b<script>", .without_script = true });
	if (strcasestr(buffer_cstring(&b), "<script"))
		abort();
	for (size_t i = 0; i < b.size; i++)
		if ((unsigned char)b.data[i] < 0x20 && b.data[i] != '\n' && b.data[i] != '\t')
			abort();
	buffer_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p;
	struct tree *tree;

	log_set_level(LOG_QUIET);
	import_collapsed.is((const char *)data, size);
	tree = read_tree(data, size, &p);
	if (!tree)
		return 0;
	check_sums(tree, p);
	check_read_back(tree);
	check_picture(tree, p);
	tree_free(tree);
	profile_free(p);
	return 0;
}
