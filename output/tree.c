/*
 * Builds the call tree: samples are added up by stack and thread name, the stacks written out as
 * codes, sorted, and read once from first to last, opening a node where a stack leaves the one before
 * it. Equal stacks meet whatever order they came in.
 */
#include "output/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/column.h"
#include "output/stack_sort.h"

/* How many lines before its turn a line is asked for from memory. */
enum { AHEAD = 8 };

/* The samples of one stack under one thread name. */
struct group {
	uint32_t stack, comm; /* comm: string id, PROFILE_NONE = no thread */
	uint32_t next;	      /* of the same stack, + 1; 0 = last */
	uint32_t node;	      /* once there are nodes */
	uint64_t weight, samples;
};

struct builder {
	const struct profile *p;
	struct tree *tree;
	struct group *groups;
	size_t nr_groups, groups_capacity;
	struct stack_line *lines; /* one per group */
	uint32_t *codes;
	size_t nodes_capacity;
	uint32_t *path; /* node at each depth of the line being added */
	size_t path_capacity;
};

static struct group *find_group(struct builder *b, uint32_t *heads, uint32_t stack, uint32_t comm)
{
	for (uint32_t i = heads[stack]; i; i = b->groups[i - 1].next)
		if (b->groups[i - 1].comm == comm)
			return &b->groups[i - 1];
	b->groups = xgrow(b->groups, &b->groups_capacity, b->nr_groups + 1, sizeof(*b->groups));
	b->groups[b->nr_groups] =
		(struct group){ .stack = stack, .comm = comm, .next = heads[stack] };
	heads[stack] = (uint32_t)++b->nr_groups;
	return &b->groups[b->nr_groups - 1];
}

static int add_up_samples(struct builder *b)
{
	const struct profile *p = b->p;
	uint32_t *heads = xcalloc(p->nr_stacks + 1, sizeof(*heads));
	enum profile_column column = b->tree->column;
	uint64_t total = 0, nr_events = 0;
	int err = 0;

	for (size_t i = 0; i < p->nr_samples && !err; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint64_t weight = s->column == column ? s->weight : 0;
		uint64_t events = column_events(column, s);
		uint32_t comm = PROFILE_NONE;
		struct group *g;

		if (b->tree->sample_nodes)
			b->tree->sample_nodes[i] = PROFILE_NONE;
		if (s->column != column && !events)
			continue;
		if (s->thread != PROFILE_NONE)
			comm = p->threads[s->thread].comm;
		g = find_group(b, heads, s->stack, comm);
		g->weight += weight;
		g->samples += events;
		if (b->tree->sample_nodes)
			b->tree->sample_nodes[i] = (uint32_t)(g - b->groups);
		if (weight >= TREE_MAX_TOTAL || (total += weight) >= TREE_MAX_TOTAL ||
		    events >= TREE_MAX_TOTAL || (nr_events += events) >= TREE_MAX_TOTAL)
			err = -ERANGE;
	}
	free(heads);
	return err;
}

static void name_functions(struct builder *b, bool without_modules)
{
	const struct profile *p = b->p;
	bool *frame_used = xcalloc(p->nr_frames + 1, sizeof(*frame_used));
	bool *comm_used = xcalloc(p->nr_strings + 1, sizeof(*comm_used));

	for (size_t i = 0; i < b->nr_groups; i++) {
		const struct profile_stack *s = &p->stacks[b->groups[i].stack];

		for (uint32_t j = 0; j < s->nr_frames; j++)
			frame_used[p->stack_frames[s->first_frame + j]] = true;
		if (b->groups[i].comm != PROFILE_NONE)
			comm_used[b->groups[i].comm] = true;
	}
	tree_functions_init(&b->tree->functions, p, frame_used, comm_used, without_modules);
	free(frame_used);
	free(comm_used);
}

/* A stack may begin with roots that stand above its thread: the host that it came from. */
static uint32_t nr_roots(const struct profile *p, const struct profile_stack *s)
{
	uint32_t nr = 0;

	for (; nr < s->nr_frames; nr++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first_frame + nr]];

		if (f->nr_locations != 1 ||
		    p->functions[p->locations[f->first_location].function].kind != FUNCTION_THREAD)
			break;
	}
	return nr;
}

static uint32_t *write_codes(const struct builder *b, const struct group *g, uint32_t *at)
{
	const struct tree_functions *t = &b->tree->functions;
	const struct profile_stack *s = &b->p->stacks[g->stack];

	uint32_t roots = g->comm == PROFILE_NONE ? 0 : nr_roots(b->p, s);

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint32_t frame = b->p->stack_frames[s->first_frame + i];

		if (g->comm != PROFILE_NONE && i == roots)
			*at++ = t->comms[g->comm];
		for (size_t j = t->first[frame]; j < t->first[frame + 1]; j++)
			*at++ = t->codes[j];
	}
	if (g->comm != PROFILE_NONE && roots == s->nr_frames)
		*at++ = t->comms[g->comm];
	return at;
}

/* Groups become lines of codes. */
static void write_lines(struct builder *b)
{
	const struct tree_functions *t = &b->tree->functions;
	size_t need = 0;
	uint32_t *at;

	for (size_t i = 0; i < b->nr_groups; i++) {
		const struct profile_stack *s = &b->p->stacks[b->groups[i].stack];

		need++;
		for (uint32_t j = 0; j < s->nr_frames; j++) {
			uint32_t frame = b->p->stack_frames[s->first_frame + j];

			need += t->first[frame + 1] - t->first[frame];
		}
	}
	b->lines = xcalloc(b->nr_groups + 1, sizeof(*b->lines));
	b->codes = xcalloc(need + 1, sizeof(*b->codes));
	at = b->codes;
	for (size_t i = 0; i < b->nr_groups; i++) {
		const struct group *g = &b->groups[i];
		uint32_t *end = write_codes(b, g, at);

		b->lines[i] = (struct stack_line){
			.first = (size_t)(at - b->codes),
			.nr = (uint32_t)(end - at),
		};
		at = end;
	}
}

static uint32_t open_node(struct builder *b, uint32_t depth, uint32_t code)
{
	struct tree *tree = b->tree;
	uint32_t node = tree->nr_nodes++;

	tree->nodes = xgrow(tree->nodes, &b->nodes_capacity, tree->nr_nodes, sizeof(*tree->nodes));
	b->path = xgrow(b->path, &b->path_capacity, (size_t)depth + 1, sizeof(*b->path));
	b->path[depth] = node;
	tree->nodes[node] = (struct tree_node){
		.function = CODE_FUNCTION(code),
		.parent = depth ? b->path[depth - 1] : 0,
		.depth = depth,
		.inlined = (code & CODE_INLINED) != 0,
	};
	return node;
}

/* How many frames the two lines share; a node that is not inlined in both is not inlined. */
static uint32_t shared_frames(struct builder *b, const struct stack_line *x,
			      const struct stack_line *y)
{
	const uint32_t *a = b->codes + x->first, *c = b->codes + y->first;
	uint32_t nr = x->nr < y->nr ? x->nr : y->nr, i;

	for (i = 0; i < nr; i++) {
		if (a[i] == c[i])
			continue;
		if (CODE_FUNCTION(a[i]) != CODE_FUNCTION(c[i]))
			break;
		b->tree->nodes[b->path[i + 1]].inlined = 0;
	}
	return i;
}

static void build_nodes(struct builder *b)
{
	uint32_t *order = xcalloc(b->nr_groups + 1, sizeof(*order));
	const struct stack_line *last = NULL;

	stack_sort(b->lines, b->nr_groups, b->codes, order);
	open_node(b, 0, 0);
	for (size_t i = 0; i < b->nr_groups; i++) {
		const struct stack_line *line = &b->lines[order[i]];
		struct tree_node *n;

		/* Sorted is not how lines lie in memory. */
		if (i + 2 * AHEAD < b->nr_groups) {
			__builtin_prefetch(&b->lines[order[i + 2 * AHEAD]]);
			__builtin_prefetch(&b->groups[order[i + 2 * AHEAD]]);
			__builtin_prefetch(&b->codes[b->lines[order[i + AHEAD]].first]);
		}
		for (uint32_t j = last ? shared_frames(b, last, line) : 0; j < line->nr; j++)
			open_node(b, j + 1, b->codes[line->first + j]);
		b->groups[order[i]].node = b->path[line->nr];
		n = &b->tree->nodes[b->path[line->nr]];
		n->self += b->groups[order[i]].weight;
		n->self_samples += b->groups[order[i]].samples;
		last = line;
	}
	free(order);
}

/* Children come after their parent, so one pass from the end fills totals and ends. */
static void add_up_nodes(struct tree *tree)
{
	for (uint32_t i = tree->nr_nodes; i--;) {
		struct tree_node *n = &tree->nodes[i], *parent = &tree->nodes[n->parent];

		n->total += n->self;
		n->total_samples += n->self_samples;
		if (!n->end)
			n->end = i + 1;
		if (!i)
			break;
		parent->total += n->total;
		parent->total_samples += n->total_samples;
		if (parent->end < n->end)
			parent->end = n->end;
	}
}

/* So far a sample knows its group. */
static void place_samples(struct builder *b)
{
	uint32_t *nodes = b->tree->sample_nodes;

	for (size_t i = 0; nodes && i < b->p->nr_samples; i++)
		if (nodes[i] != PROFILE_NONE)
			nodes[i] = b->groups[nodes[i]].node;
}

int tree_new(const struct profile *p, const struct tree_opts *opts, struct tree **ret_tree)
{
	struct builder b = { .p = p, .tree = xcalloc(1, sizeof(*b.tree)) };
	int err;

	b.tree->column = opts->column_given ? opts->column : column_default(p);
	if (opts->sample_nodes)
		b.tree->sample_nodes = xcalloc(p->nr_samples + 1, sizeof(*b.tree->sample_nodes));
	err = add_up_samples(&b);
	if (err)
		goto out;
	name_functions(&b, opts->without_modules);
	write_lines(&b);
	build_nodes(&b);
	add_up_nodes(b.tree);
	place_samples(&b);
out:
	free(b.groups);
	free(b.lines);
	free(b.codes);
	free(b.path);
	if (err)
		tree_free(b.tree);
	else
		*ret_tree = b.tree;
	return err;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	tree_functions_fini(&tree->functions);
	free(tree->nodes);
	free(tree->sample_nodes);
	free(tree);
}

struct tree_sum *tree_sums(const struct tree *tree)
{
	struct tree_sum *sums = xcalloc(tree->functions.nr, sizeof(*sums));
	uint32_t *end = xcalloc(tree->functions.nr, sizeof(*end));

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		struct tree_sum *sum = &sums[n->function];

		sum->nr_nodes++;
		sum->self += n->self;
		sum->self_samples += n->self_samples;
		if (i < end[n->function])
			continue; /* below another node of the same function */
		end[n->function] = n->end;
		sum->total += n->total;
		sum->total_samples += n->total_samples;
	}
	free(end);
	return sums;
}
