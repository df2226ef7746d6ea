/*
 * Keeps the frames of the current line open until a line departs from them. A frame has a depth:
 * the root has 0, and code i of a line i + 1.
 */
#include "output/tree/outline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/stack_sort.h"
#include "output/tree/tree.h"

/* A frame of the current line. */
struct step {
	uint32_t node;	  /* of the `made` lowest frames alone */
	uint32_t line;	  /* as tree_node.line */
	uint32_t ordinal; /* number of its node in the whole tree */
	uint32_t deepest; /* depth of the deepest frame above it that was closed; or 0 */
};

/* What is known of a function. */
struct tally {
	uint32_t open; /* depth of its lowest frame in the line, plus one; 0: none */
	uint32_t nr_nodes;
	uint64_t self, total;
};

struct outliner {
	struct tree *tree;
	struct tree_outline *outline; /* of the tree */
	struct tree_sink sink;
	struct tally *tallies;			      /* by function */
	uint32_t *functions;			      /* by depth, of the line's frames */
	struct step *steps;			      /* by depth */
	size_t nodes_capacity, cuts_capacity, depths; /* depths: room in both */
	uint32_t depth;				      /* of the line's last frame */
	uint32_t chain;	   /* depth of the first frame that was not handed over */
	uint32_t made;	   /* so many of the lowest frames are nodes */
	uint32_t nr;	   /* nodes of the whole tree so far */
	uint32_t nr_lines; /* lines that have ended */
	/*
	 * By function: is it a marker of missing frames, or a wait, whose markers above it do not
	 * count? NULL: there are no markers.
	 */
	bool *marks;
	uint32_t marker; /* depth of the lowest of them in the line, plus one; 0: none */
};

/* A marker of repeated frames does not count: nothing is missing there. */
static void find_markers(struct outliner *o)
{
	const struct tree_functions *functions = &o->tree->functions;

	for (size_t i = 0; i < functions->nr; i++) {
		const struct tree_function *f = &functions->list[i];

		if (f->kind != FUNCTION_MARKER ||
		    marker_from_name(f->name, strlen(f->name)) == MARKER_REPEATED)
			continue;
		if (!o->marks)
			o->marks = xcalloc(functions->nr, sizeof(*o->marks));
		o->marks[i] = true;
	}
	for (size_t i = 0; o->marks && i < functions->nr; i++)
		o->marks[i] |= functions->list[i].kind == FUNCTION_WAIT;
	if (o->marks)
		o->outline->marked = xcalloc(functions->nr, sizeof(*o->outline->marked));
}

static void need_depth(struct outliner *o, uint32_t depth)
{
	o->steps = xgrow(o->steps, &o->depths, (size_t)depth + 1, sizeof(*o->steps));
	o->functions = xreallocarray(o->functions, o->depths, sizeof(*o->functions));
}

/* The caller updates o->depth and o->nr. */
static inline void open_frame(struct outliner *o, uint32_t depth, uint32_t function,
			      uint32_t ordinal)
{
	struct tally *tally = &o->tallies[function];

	if (depth >= o->depths)
		need_depth(o, depth);
	o->functions[depth] = function;
	o->steps[depth] = (struct step){ .line = o->nr_lines, .ordinal = ordinal };
	tally->nr_nodes++;
	tally->open = tally->open ? tally->open : depth + 1;
	if (o->marks && !o->marker && o->marks[function])
		o->marker = depth + 1;
}

struct outliner *outliner_new(struct tree *tree, uint64_t total, const struct tree_opts *opts)
{
	struct outliner *o = xcalloc(1, sizeof(*o));

	o->tree = tree;
	o->outline = tree->outline = xcalloc(1, sizeof(*tree->outline));
	o->outline->least = total / opts->outline_parts;
	o->sink = opts->sink;
	o->tallies = xcalloc(tree->functions.nr, sizeof(*o->tallies));
	find_markers(o);
	open_frame(o, 0, 0, o->nr++);
	return o;
}

/* The total of a frame so far. */
static inline uint64_t total_of(const struct outliner *o, uint32_t depth)
{
	return o->tree->sums[o->nr_lines] - o->tree->sums[o->steps[depth].line];
}

/* Hands over the frames that were opened last. No further line ends at one of them. */
static void hand_over(struct outliner *o)
{
	if (o->sink.take)
		o->sink.take(o->sink.arg, o->tree, o->functions + o->chain, o->chain,
			     o->depth + 1 - o->chain, total_of(o, o->depth));
}

static void add_node(struct outliner *o, const struct tree_node *n)
{
	struct tree *tree = o->tree;

	if (tree->nr_nodes == o->nodes_capacity)
		tree->nodes = xgrow(tree->nodes, &o->nodes_capacity, (size_t)tree->nr_nodes + 1,
				    sizeof(*tree->nodes));
	tree->nodes[tree->nr_nodes++] = *n;
}

/*
 * Called before the frames from `end` on are closed. Makes nodes of the frames up to `end`, and of
 * those above it as long as their parents are wide.
 */
static void make_nodes(struct outliner *o, uint32_t end)
{
	for (uint32_t d = o->made; d <= o->depth; d++) {
		if (d > end && total_of(o, d - 1) < o->outline->least)
			break;
		o->steps[d].node = o->tree->nr_nodes;
		add_node(o, &(struct tree_node){
				    .function = o->functions[d],
				    .parent = d ? o->steps[d - 1].node : 0,
				    .depth = d,
				    .line = o->steps[d].line,
			    });
		o->made = d + 1;
	}
}

/* Ends the node of a frame. If it is narrow, drops what is above it. */
static void end_node(struct outliner *o, uint32_t depth, uint64_t total, uint32_t deepest)
{
	struct tree_outline *outline = o->outline;
	uint32_t node = o->steps[depth].node;
	struct tree_cut cut = { 0 };

	if (total < outline->least) {
		o->tree->nr_nodes = node + 1;
		cut = (struct tree_cut){ o->nr - o->steps[depth].ordinal - 1, deepest };
	}
	if (node >= o->cuts_capacity)
		outline->cuts = xgrow(outline->cuts, &o->cuts_capacity, (size_t)node + 1,
				      sizeof(*outline->cuts));
	outline->cuts[node] = cut;
	o->tree->nodes[node].end = o->tree->nr_nodes;
}

/* Closes the frames from `end` on. */
static void close_frames(struct outliner *o, uint32_t end)
{
	const uint64_t *sums = o->tree->sums;
	const uint32_t *functions = o->functions;
	const struct step *steps = o->steps;
	struct tally *tallies = o->tallies;
	uint64_t now = sums[o->nr_lines];
	uint32_t deepest = 0, made;

	make_nodes(o, end);
	made = o->made;
	for (uint32_t d = o->depth + 1; d-- > end;) {
		const struct step *step = &steps[d];
		struct tally *tally = &tallies[functions[d]];
		uint64_t total = now - sums[step->line];
		bool lowest = tally->open == d + 1;

		tally->total += lowest ? total : 0;
		tally->open = lowest ? 0 : tally->open;
		deepest = deepest > step->deepest ? deepest : step->deepest;
		if (d < made)
			end_node(o, d, total, deepest);
		deepest = deepest > d ? deepest : d;
	}
	o->made = made < end ? made : end;
	o->marker = o->marker <= end ? o->marker : 0;
	o->depth = end - 1;
	if (end && o->steps[end - 1].deepest < deepest)
		o->steps[end - 1].deepest = deepest;
}

void outliner_begin_line(struct outliner *o, const struct stack_words *words,
			 const struct stack_item *item)
{
	size_t line = item->line;
	uint32_t shared = (uint32_t)item->key, depth, code, nr = o->nr;

	while (shared < o->depth && stack_code(words, line + shared) == o->functions[shared + 1])
		shared++;
	code = stack_code(words, line + shared);
	if (!code && shared == o->depth)
		return; /* the same stack again */
	hand_over(o);
	if (shared < o->depth)
		close_frames(o, shared + 1);
	o->chain = shared + 1;
	for (depth = shared; code; code = stack_code(words, line + depth))
		open_frame(o, ++depth, code, nr++);
	o->depth = depth;
	o->nr = nr;
}

void outliner_end_line(struct outliner *o)
{
	const uint64_t *sums = o->tree->sums + o->nr_lines++;
	uint64_t weight = sums[1] - sums[0];

	o->tallies[o->functions[o->depth]].self += weight;
	if (o->marker)
		o->outline->marked[o->functions[o->marker - 1]] += weight;
}

void outliner_end(struct outliner *o)
{
	struct tree *tree = o->tree;
	struct tree_sum *sums = xcalloc(tree->functions.nr, sizeof(*sums));

	hand_over(o);
	close_frames(o, 0);
	for (size_t i = 0; i < tree->functions.nr; i++) {
		const struct tally *t = &o->tallies[i];

		sums[i] = (struct tree_sum){ t->self, t->total, t->self, t->total, t->nr_nodes };
	}
	o->outline->sums = sums;
	add_node(o, &(struct tree_node){ .line = o->nr_lines });
	tree->nr_nodes--;
	free(o->tallies);
	free(o->functions);
	free(o->steps);
	free(o->marks);
	free(o);
}

void outline_free(struct tree_outline *outline)
{
	if (!outline)
		return;
	free(outline->cuts);
	free(outline->sums);
	free(outline->marked);
	free(outline);
}
