/*
 * Writes collapsed stacks. As the nodes of a tree lie in depth-first order, one walk suffices: it
 * keeps the path to the current node as text, and the offset at which each level of that text ends.
 */
#include "output/export/collapsed_writer.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/export/exporter.h"
#include "output/tree/tree.h"

static const char *suffix_of(const struct tree *tree, uint32_t node)
{
	switch (tree_function_of(tree, node)->kind) {
	case FUNCTION_KERNEL: return "_[k]";
	case FUNCTION_JIT: return "_[j]";
	case FUNCTION_GPU: return "_[g]";
	case FUNCTION_WAIT: return "_[w]";
	default: return tree->nodes[node].inlined ? "_[i]" : "";
	}
}

static void add_name(struct buffer *line, const char *name)
{
	size_t start = line->size;

	/* A line that begins with "# " would be a comment. */
	if (!start && *name == '#') {
		buffer_add_string(line, "\\u{23}");
		name++;
	}
	buffer_add_string(line, name);
	for (size_t i = start; i < line->size; i++)
		if (line->data[i] == ';')
			line->data[i] = ':';
}

static void add_line(struct buffer *b, const struct buffer *line, uint64_t count)
{
	buffer_add(b, line->data, line->size);
	buffer_add_char(b, ' ');
	buffer_add_u64(b, count);
	buffer_add_char(b, '\n');
}

void collapsed_write(struct buffer *b, const struct tree *tree, bool weights)
{
	struct buffer line = { 0 };
	size_t *ends = NULL, capacity = 0;

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		uint64_t count = weights ? tree_self(tree, n) : tree_events_of(tree, n).self;

		/* Paths leave the root out, unless it is all there is. */
		ends = xgrow(ends, &capacity, (size_t)n->depth + 1, sizeof(*ends));
		line.size = n->depth > 1 ? ends[n->depth - 1] : 0;
		if (n->depth > 1)
			buffer_add_char(&line, ';');
		add_name(&line, tree_function_of(tree, i)->name);
		buffer_add_string(&line, suffix_of(tree, i));
		ends[n->depth] = line.size;
		if (count)
			add_line(b, &line, count);
	}
	free(ends);
	buffer_fini(&line);
}

static int write_collapsed(struct buffer *b, const struct profile *p)
{
	struct tree *tree;
	int err = tree_new(p, &(struct tree_opts){ .without_modules = true }, &tree);

	if (err)
		return err;
	collapsed_write(b, tree,
			p->meta.weighted || tree->column == COLUMN_EVENTS ||
				column_is_event(tree->column) || column_is_memory(tree->column) ||
				tree->info->sums);
	tree_free(tree);
	return 0;
}

const struct exporter export_collapsed = {
	.name = "collapsed",
	.suffix = ".folded",
	.help = "flamegraph.pl, inferno and most others; counts samples",
	.write = write_collapsed,
};
