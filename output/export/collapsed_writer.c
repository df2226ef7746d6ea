/* Collapsed stacks are a tree, written out. */
#include "output/export/collapsed_writer.h"

#include "output/export/collapsed_write.h"
#include "output/tree/tree.h"

static int write_collapsed(struct buffer *b, const struct profile *p)
{
	struct tree *tree;
	int err = tree_new(p, &(struct tree_opts){ .without_modules = true }, &tree);

	if (err)
		return err;
	collapsed_write(b, tree, false);
	tree_free(tree);
	return 0;
}

const struct exporter export_collapsed = {
	.name = "collapsed",
	.suffix = ".folded",
	.help = "flamegraph.pl, inferno and most others; counts samples",
	.write = write_collapsed,
};
