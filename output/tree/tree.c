/*
 * Builds the call tree. The stacks, as lines of codes (stack_lines.h), are sorted and then read
 * once in order: a node is opened where a stack departs from the one before it, and closed where
 * the next one departs from it.
 */
#include "output/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "output/tree/margins.h"
#include "output/tree/outline.h"
#include "output/tree/stack_sort.h"
#include "output/tree/stack_lines.h"

/*
 * The number of lines that are prefetched at once, before their turn. Each line lies in a page of
 * its own, and a prefetch keeps its place in the processor's instruction window until its page is
 * found: only prefetches that follow one another have their page tables read side by side.
 */
enum { BATCH = 32 };

/* A frame of the current line. */
struct step {
	uint32_t node, code;
};

struct builder {
	struct tree *tree;
	struct tree_lines lines;
	bool with_events;   /* events differ from weights */
	bool with_inlined;  /* some function is inlined somewhere */
	uint32_t *nodes_of; /* by number of a line: its last node; NULL: not needed */
	struct step *path;
	uint32_t nr_lines; /* lines that have been walked */
	size_t nodes_capacity, path_capacity;
	struct outliner *outliner; /* NULL: the tree is built whole */
};

static void open_node(struct builder *b, uint32_t depth, uint32_t code)
{
	struct tree *tree = b->tree;
	uint32_t node = tree->nr_nodes++;

	if (node == b->nodes_capacity)
		tree->nodes = xgrow(tree->nodes, &b->nodes_capacity, (size_t)node + 1,
				    sizeof(*tree->nodes));
	if (depth == b->path_capacity)
		b->path = xgrow(b->path, &b->path_capacity, (size_t)depth + 1, sizeof(*b->path));
	b->path[depth] = (struct step){ node, code };
	tree->nodes[node] = (struct tree_node){
		.function = FRAME_FUNCTION(code),
		.parent = depth ? b->path[depth - 1].node : 0,
		.depth = depth,
		.inlined = (code & CODE_INLINED) != 0,
		.line = b->nr_lines,
	};
}

/* Adds a line's weight and events to the sums. `node` is its last node, unless in an outline. */
static void add_share(struct builder *b, uint32_t number, uint32_t node)
{
	struct tree *tree = b->tree;
	struct tree_share share;
	uint32_t line = b->nr_lines++;

	if (b->lines.numbers_are_weights) {
		tree->sums[line + 1] = tree->sums[line] + number;
		return;
	}
	share = tree_lines_share(&b->lines, number);
	tree->sums[line + 1] = tree->sums[line] + share.weight;
	if (tree->event_sums)
		tree->event_sums[line + 1] = tree->event_sums[line] + share.events;
	if (b->nodes_of)
		b->nodes_of[number] = node;
}

/*
 * Goes from the last line, which was `depth` deep, to this one: closes the nodes that they do not
 * share and opens the others of this line. Returns its depth. The first `shared` codes are known to
 * be equal, save for CODE_INLINED; a node counts as inlined only if it is inlined in all lines.
 */
static uint32_t walk_line(struct builder *b, uint32_t line, uint32_t depth, uint32_t shared)
{
	struct tree *tree = b->tree;
	uint32_t code;

	for (shared = b->with_inlined ? 0 : shared; shared < depth; shared++) {
		const struct step *step = &b->path[shared + 1];

		code = stack_code(&b->lines.words, (size_t)line + shared);
		if (FRAME_FUNCTION(code) != FRAME_FUNCTION(step->code))
			break;
		if (code != step->code)
			tree->nodes[step->node].inlined = 0;
	}
	for (; depth > shared; depth--)
		tree->nodes[b->path[depth].node].end = tree->nr_nodes;
	for (; (code = stack_code(&b->lines.words, (size_t)line + depth)); depth++)
		open_node(b, depth + 1, code);
	return depth;
}

/* Sorted lines are scattered in memory. (Without always_inline gcc 12 drops the calls.) */
static inline void __attribute__((always_inline))
prefetch_lines(const struct builder *b, size_t from)
{
	const struct tree_lines *l = &b->lines;
	size_t end = from + BATCH < l->nr ? from + BATCH : l->nr;

	for (size_t i = from; i < end; i++) {
		const uint32_t *words = l->words.words + l->list[i].line;

		words += b->with_inlined ? 0 : l->list[i].key;
		__builtin_prefetch(words);
		__builtin_prefetch(words + 16);
	}
}

/* Ends the last line, and adds the entry behind the last node: see tree_self(). */
static void end_nodes(struct builder *b, uint32_t depth)
{
	struct tree *tree = b->tree;

	tree->nodes = xgrow(tree->nodes, &b->nodes_capacity, (size_t)tree->nr_nodes + 1,
			    sizeof(*tree->nodes));
	tree->nodes[tree->nr_nodes] = (struct tree_node){ .line = b->nr_lines };
	for (uint32_t i = 0; i <= depth; i++)
		tree->nodes[b->path[i].node].end = tree->nr_nodes;
}

/* Walks over the sorted lines, as build_nodes() does, for an outline. */
static void build_outline(struct builder *b)
{
	const struct tree_lines *l = &b->lines;

	for (size_t i = 0; i < l->nr; i++) {
		if (i % BATCH == 0)
			prefetch_lines(b, i + BATCH);
		outliner_begin_line(b->outliner, &l->words, &l->list[i]);
		add_share(b, l->list[i].number, 0);
		outliner_end_line(b->outliner);
	}
	outliner_end(b->outliner);
}

static void build_nodes(struct builder *b)
{
	const struct tree_lines *l = &b->lines;
	struct tree *tree = b->tree;
	uint32_t depth = 0;

	/* The memory of the nodes serves the sorter as scratch space first. */
	_Static_assert(sizeof(*tree->nodes) >= sizeof(*l->list), "as many hold them");
	tree->nodes = xgrow(NULL, &b->nodes_capacity, l->nr + 1, sizeof(*tree->nodes));
	stack_sort(l->list, l->nr, &l->words, (struct stack_item *)tree->nodes);
	tree->sums = xcalloc(l->nr + 1, sizeof(*tree->sums));
	if (b->with_events)
		tree->event_sums = xcalloc(l->nr + 1, sizeof(*tree->event_sums));
	if (b->outliner) {
		free(tree->nodes);
		tree->nodes = NULL;
		build_outline(b);
		return;
	}
	open_node(b, 0, 0);
	for (size_t i = 0; i < l->nr; i++) {
		if (i % BATCH == 0)
			prefetch_lines(b, i + BATCH);
		depth = walk_line(b, l->list[i].line, depth, (uint32_t)l->list[i].key);
		add_share(b, l->list[i].number, b->path[depth].node);
	}
	end_nodes(b, depth);
}

/* sample_nodes holds numbers of lines so far: replaces them by nodes. */
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

/* Fills tree->gil; it stays NULL if no sample of the column knows the GIL. */
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

/* Margins and samples need all nodes, and only the last line of a node tells if it is inlined. */
static bool allows_outline(const struct builder *b, const struct profile *p)
{
	return !b->with_inlined && !b->with_events && !b->tree->sample_nodes && !p->samples_memory;
}

int tree_new(const struct profile *p, const struct tree_opts *opts, struct tree **ret_tree)
{
	struct tree *tree = xcalloc(1, sizeof(*tree));
	struct builder b = { .tree = tree };
	int err;

	tree->column = opts->column_given ? opts->column : column_default(p);
	tree->info = column_info_of(p, tree->column);
	tree->sample_nodes = opts->sample_nodes || opts->gil ? no_nodes(p) : NULL;
	err = tree_lines_init(&b.lines, p, tree->column, opts->without_modules, &tree->functions,
			      tree->sample_nodes);
	if (err)
		goto out;
	b.with_inlined = tree->functions.with_inlined;
	b.with_events = tree->info->counted_by != tree->column;
	if (tree->sample_nodes)
		b.nodes_of = xcalloc(b.lines.nr_numbers, sizeof(*b.nodes_of));
	if (opts->outline_parts && allows_outline(&b, p))
		b.outliner = outliner_new(tree, b.lines.total, opts);
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
	free(tree->sums);
	free(tree->event_sums);
	free(tree->sample_nodes);
	free(tree->gil);
	if (tree->margins) {
		free(tree->margins->self);
		free(tree->margins->total);
		free(tree->margins->variances);
		free(tree->margins->node_self);
		free(tree->margins->node_total);
		free(tree->margins);
	}
	outline_free(tree->outline);
	if (tree->ratio) {
		free(tree->ratio->self);
		free(tree->ratio->total);
		free(tree->ratio);
	}
	free(tree);
}

struct tree_sum *tree_sums(const struct tree *tree)
{
	struct tree_sum *sums = xcalloc(tree->functions.nr, sizeof(*sums));
	uint32_t *end;

	if (tree->outline)
		return memcpy(sums, tree->outline->sums, tree->functions.nr * sizeof(*sums));
	end = xcalloc(tree->functions.nr, sizeof(*end));
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		struct tree_sum *sum = &sums[n->function];
		bool recursive = i < end[n->function];

		sum->nr_nodes++;
		sum->self += tree_self(tree, n);
		sum->total += recursive ? 0 : tree_total(tree, n);
		if (!recursive)
			end[n->function] = n->end;
		if (!tree->event_sums)
			continue;
		sum->self_samples += tree_events_of(tree, n).self;
		sum->total_samples += recursive ? 0 : tree_events_of(tree, n).total;
	}
	for (size_t i = 0; i < tree->functions.nr && !tree->event_sums; i++) {
		sums[i].self_samples = sums[i].self;
		sums[i].total_samples = sums[i].total;
	}
	free(end);
	return sums;
}
