/*
 * Builds the call tree: lines are sorted and read once from first to last, opening a node where a stack
 * leaves the one before it. Equal stacks meet whatever order they came in.
 */
#include "output/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "output/tree/stack_sort.h"
#include "output/tree/stack_lines.h"

/* How many lines before its turn a line is asked for from memory. */
enum { AHEAD = 16 };

/* A frame of the line being added. */
struct step {
	uint32_t node, code;
};

struct builder {
	struct tree *tree;
	struct tree_lines lines;
	bool with_events;   /* they are not the weight */
	uint32_t *nodes_of; /* by number of a line: the node where it ends; NULL: nobody asks */
	struct step *path;
	size_t nodes_capacity, events_capacity, path_capacity;
};

static void open_node(struct builder *b, uint32_t depth, uint32_t code)
{
	struct tree *tree = b->tree;
	uint32_t node = tree->nr_nodes++;

	if (node == b->nodes_capacity)
		tree->nodes = xgrow(tree->nodes, &b->nodes_capacity, (size_t)node + 1,
				    sizeof(*tree->nodes));
	if (b->with_events && node == b->events_capacity)
		tree->events = xgrow(tree->events, &b->events_capacity, (size_t)node + 1,
				     sizeof(*tree->events));
	if (b->with_events)
		tree->events[node] = (struct tree_events){ 0 };
	if (depth == b->path_capacity)
		b->path = xgrow(b->path, &b->path_capacity, (size_t)depth + 1, sizeof(*b->path));
	b->path[depth] = (struct step){ node, code };
	tree->nodes[node] = (struct tree_node){
		.function = FRAME_FUNCTION(code),
		.parent = depth ? b->path[depth - 1].node : 0,
		.depth = depth,
		.inlined = (code & CODE_INLINED) != 0,
	};
}

/* What is below it is complete, so it is. */
static void close_node(struct tree *tree, uint32_t node)
{
	struct tree_node *n = &tree->nodes[node], *parent = &tree->nodes[n->parent];

	n->total += n->self;
	n->end = tree->nr_nodes;
	if (tree->events)
		tree->events[node].total += tree->events[node].self;
	if (!node)
		return;
	parent->total += n->total;
	if (tree->events)
		tree->events[n->parent].total += tree->events[node].total;
}

/* What a line brings, at the node where it ends. */
static void add_share(struct builder *b, uint32_t number, uint32_t node)
{
	struct tree *tree = b->tree;
	struct tree_share share;

	if (b->lines.numbers_are_weights) {
		tree->nodes[node].self += number;
		return;
	}
	share = tree_lines_share(&b->lines, number);
	tree->nodes[node].self += share.weight;
	if (b->with_events)
		tree->events[node].self += share.events;
	if (b->nodes_of)
		b->nodes_of[number] = node;
}

/*
 * Closes the nodes of the last line, `depth` deep, where this one leaves it and opens its own; returns
 * its depth. A node that is not inlined in all lines is not inlined.
 */
static uint32_t walk_line(struct builder *b, uint32_t line, uint32_t depth)
{
	struct tree *tree = b->tree;
	uint32_t shared, code;

	for (shared = 0; shared < depth; shared++) {
		const struct step *step = &b->path[shared + 1];

		code = stack_code(&b->lines.words, (size_t)line + shared);
		if (FRAME_FUNCTION(code) != FRAME_FUNCTION(step->code))
			break;
		if (code != step->code)
			tree->nodes[step->node].inlined = 0;
	}
	for (; depth > shared; depth--)
		close_node(tree, b->path[depth].node);
	for (; (code = stack_code(&b->lines.words, (size_t)line + depth)); depth++)
		open_node(b, depth + 1, code);
	return depth;
}

static void build_nodes(struct builder *b)
{
	const struct tree_lines *l = &b->lines;
	struct tree *tree = b->tree;
	uint32_t depth = 0;

	/* Memory of nodes to come is the sorter's until then. */
	_Static_assert(sizeof(*tree->nodes) == 2 * sizeof(*l->list), "half as many hold them");
	tree->nodes = xgrow(NULL, &b->nodes_capacity, l->nr / 2 + 1, sizeof(*tree->nodes));
	stack_sort(l->list, l->nr, &l->words, (struct stack_item *)tree->nodes);
	open_node(b, 0, 0);
	for (size_t i = 0; i < l->nr; i++) {
		/* Sorted is not how lines lie in memory. (gcc 12 drops this from a function of its own.) */
		if (i + AHEAD < l->nr) {
			__builtin_prefetch(l->words.words + l->list[i + AHEAD].line);
			__builtin_prefetch(l->words.words + l->list[i + AHEAD].line + 6);
		}
		depth = walk_line(b, l->list[i].line, depth);
		add_share(b, l->list[i].number, b->path[depth].node);
	}
	for (; depth; depth--)
		close_node(tree, b->path[depth].node);
	close_node(tree, 0);
}

/* They know the number of their line so far. */
static void place_samples(const struct builder *b)
{
	uint32_t *nodes = b->tree->sample_nodes;

	for (size_t i = 0; nodes && i < b->lines.p->nr_samples; i++)
		if (nodes[i] != PROFILE_NONE)
			nodes[i] = b->nodes_of[nodes[i]];
}

static uint32_t *no_nodes(const struct profile *p)
{
	uint32_t *nodes = xreallocarray(NULL, p->nr_samples, sizeof(*nodes));

	memset(nodes, 0xff, p->nr_samples * sizeof(*nodes)); /* PROFILE_NONE */
	return nodes;
}

/* What is known of the GIL, by function. Nothing, where no sample of the column says anything. */
static void add_up_gil(struct tree *tree, const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		struct tree_gil *gil;

		if (s->gil == GIL_UNKNOWN || s->column != tree->column ||
		    tree->sample_nodes[i] == PROFILE_NONE)
			continue;
		if (!tree->gil)
			tree->gil = xcalloc(tree->functions.nr, sizeof(*tree->gil));
		gil = &tree->gil[tree->nodes[tree->sample_nodes[i]].function];
		gil->known += s->weight;
		gil->held += s->gil == GIL_HELD ? s->weight : 0;
	}
}

int tree_new(const struct profile *p, const struct tree_opts *opts, struct tree **ret_tree)
{
	struct tree *tree = xcalloc(1, sizeof(*tree));
	struct builder b = { .tree = tree };
	int err;

	tree->column = opts->column_given ? opts->column : column_default(p);
	tree->sample_nodes = opts->sample_nodes || opts->gil ? no_nodes(p) : NULL;
	err = tree_lines_init(&b.lines, p, tree->column, opts->without_modules, &tree->functions,
			      tree->sample_nodes);
	if (err)
		goto out;
	b.with_events = column_table[tree->column].counted_by != tree->column;
	if (tree->sample_nodes)
		b.nodes_of = xcalloc(b.lines.nr_numbers, sizeof(*b.nodes_of));
	build_nodes(&b);
	place_samples(&b);
	if (opts->gil)
		add_up_gil(tree, p);
	if (!opts->sample_nodes) {
		free(tree->sample_nodes);
		tree->sample_nodes = NULL;
	}
out:
	tree_lines_fini(&b.lines);
	free(b.nodes_of);
	free(b.path);
	if (err)
		tree_free(tree);
	else
		*ret_tree = tree;
	return err;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	tree_functions_fini(&tree->functions);
	free(tree->nodes);
	free(tree->events);
	free(tree->sample_nodes);
	free(tree->gil);
	free(tree);
}

struct tree_sum *tree_sums(const struct tree *tree)
{
	struct tree_sum *sums = xcalloc(tree->functions.nr, sizeof(*sums));
	uint32_t *end = xcalloc(tree->functions.nr, sizeof(*end));

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		const struct tree_events events = tree_events_of(tree, n);
		struct tree_sum *sum = &sums[n->function];

		sum->nr_nodes++;
		sum->self += n->self;
		sum->self_samples += events.self;
		if (i < end[n->function])
			continue; /* below another node of the same function */
		end[n->function] = n->end;
		sum->total += n->total;
		sum->total_samples += events.total;
	}
	free(end);
	return sums;
}
