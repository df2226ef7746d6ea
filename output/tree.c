/*
 * Builds the call tree: stacks are written out as lines of codes, sorted, and read once from first to
 * last, opening a node where a stack leaves the one before it. Equal stacks meet whatever order they
 * came in. What is asked for at random lies together, and large arrays are few: on a profile of many
 * stacks, half of the time is waiting for memory and the kernel handing it out.
 */
#include "output/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/column.h"
#include "output/stack_sort.h"

/* How many lines before its turn a line is asked for from memory. */
enum { AHEAD = 16 };

enum { GUESS_MAX = 1 << 16 };

/* The samples of one stack under one thread name. */
struct group {
	uint32_t stack, comm; /* comm: string id, PROFILE_NONE = no thread */
	uint32_t next;	      /* of the same stack, + 1; 0 = last */
	uint32_t node;	      /* once there are nodes, if samples want to know */
	uint64_t weight, samples;
};

/*
 * Stacks that have many samples are made groups, each a line; else every sample is one. Before the codes
 * of a line stand, in words:
 *
 *	number of the sample or group	if with_numbers
 *	events (2)			if they are not the weight
 *	weight (2)
 */
struct builder {
	const struct profile *p;
	struct tree *tree;
	uint64_t total, nr_events;
	bool with_numbers, with_events;
	uint32_t head; /* words before the codes */
	bool *frame_used, *comm_used;
	struct group *groups;
	size_t nr_groups, groups_capacity;
	struct stack_item *lines;
	size_t nr_lines;
	uint32_t *words;
	size_t nr_words, words_capacity, nodes_capacity, events_capacity;
	uint32_t *code_of; /* by frame: its code, 0 = it has several, or is not used */
	size_t most_codes; /* that a frame has */
	uint32_t *path;	   /* node at each depth of the line being added */
	size_t path_capacity;
};

/* A sample with what the column sees of it. */
struct share {
	uint64_t weight, events;
	uint32_t comm;
};

/* False where the sample is of another column. */
static bool share_of(const struct builder *b, const struct profile_sample *s, struct share *ret)
{
	enum profile_column column = b->tree->column;

	ret->weight = s->column == column ? s->weight : 0;
	ret->events = column_events(column, s);
	ret->comm = s->thread == PROFILE_NONE ? PROFILE_NONE : b->p->threads[s->thread].comm;
	return s->column == column || ret->events;
}

static int add_to_totals(struct builder *b, const struct share *s)
{
	bool fits = s->weight < TREE_MAX_TOTAL && (b->total += s->weight) < TREE_MAX_TOTAL &&
		    s->events < TREE_MAX_TOTAL && (b->nr_events += s->events) < TREE_MAX_TOTAL;

	return fits ? 0 : -ERANGE;
}

static void mark_used(struct builder *b, uint32_t stack, uint32_t comm)
{
	const struct profile_stack *s = &b->p->stacks[stack];

	for (uint32_t i = 0; i < s->nr_frames; i++)
		b->frame_used[b->p->stack_frames[s->first_frame + i]] = true;
	if (comm != PROFILE_NONE)
		b->comm_used[comm] = true;
}

static struct group *find_group(struct builder *b, uint32_t *heads, uint32_t stack, uint32_t comm)
{
	for (uint32_t i = heads[stack]; i; i = b->groups[i - 1].next)
		if (b->groups[i - 1].comm == comm)
			return &b->groups[i - 1];
	b->groups = xgrow(b->groups, &b->groups_capacity, b->nr_groups + 1, sizeof(*b->groups));
	b->groups[b->nr_groups] =
		(struct group){ .stack = stack, .comm = comm, .next = heads[stack] };
	heads[stack] = (uint32_t)++b->nr_groups;
	mark_used(b, stack, comm);
	return &b->groups[b->nr_groups - 1];
}

static int group_samples(struct builder *b)
{
	const struct profile *p = b->p;
	uint32_t *heads = xcalloc(p->nr_stacks + 1, sizeof(*heads));
	int err = 0;

	for (size_t i = 0; i < p->nr_samples && !err; i++) {
		struct share s;
		struct group *g;

		if (!share_of(b, &p->samples[i], &s))
			continue;
		g = find_group(b, heads, p->samples[i].stack, s.comm);
		g->weight += s.weight;
		g->samples += s.events;
		if (b->tree->sample_nodes)
			b->tree->sample_nodes[i] = (uint32_t)(g - b->groups);
		err = add_to_totals(b, &s);
	}
	free(heads);
	return err;
}

/* Every sample for itself. */
static int look_at_samples(struct builder *b)
{
	const struct profile *p = b->p;
	int err = 0;

	for (size_t i = 0; i < p->nr_samples && !err; i++) {
		struct share s;

		if (!share_of(b, &p->samples[i], &s))
			continue;
		mark_used(b, p->samples[i].stack, s.comm);
		err = add_to_totals(b, &s);
	}
	return err;
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

/* Most frames are one function: their codes lie close together. */
static void find_codes(struct builder *b)
{
	const struct tree_functions *t = &b->tree->functions;

	b->code_of = xcalloc(b->p->nr_frames + 1, sizeof(*b->code_of));
	for (size_t i = 0; i < b->p->nr_frames; i++) {
		size_t nr = t->first[i + 1] - t->first[i];

		if (nr == 1)
			b->code_of[i] = t->codes[t->first[i]];
		if (nr > b->most_codes)
			b->most_codes = nr;
	}
}

/* At most, and with the head and the end. The codes are counted where a guess could be far off. */
static size_t words_of(const struct builder *b, const struct profile_stack *s)
{
	const size_t *first = b->tree->functions.first;
	size_t nr = s->nr_frames * b->most_codes;

	if (nr <= GUESS_MAX)
		return b->head + 2 + nr;
	nr = 0;
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint32_t frame = b->p->stack_frames[s->first_frame + i];

		nr += first[frame + 1] - first[frame];
	}
	return b->head + 2 + nr;
}

static uint32_t *write_codes(const struct builder *b, const struct profile_stack *s, uint32_t comm,
			     uint32_t *at)
{
	const struct tree_functions *t = &b->tree->functions;
	uint32_t roots = comm == PROFILE_NONE ? UINT32_MAX : nr_roots(b->p, s);

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint32_t frame = b->p->stack_frames[s->first_frame + i];

		if (i == roots)
			*at++ = t->comms[comm];
		if (b->code_of[frame])
			*at++ = b->code_of[frame];
		else
			at = mempcpy(at, &t->codes[t->first[frame]],
				     (t->first[frame + 1] - t->first[frame]) * sizeof(*at));
	}
	if (roots == s->nr_frames)
		*at++ = t->comms[comm];
	return at;
}

static void write_line(struct builder *b, uint32_t number, uint32_t stack,
		       const struct share *share)
{
	const struct profile_stack *s = &b->p->stacks[stack];
	size_t need = b->nr_words + words_of(b, s);
	uint32_t *at;

	if (need > b->words_capacity)
		b->words = xgrow(b->words, &b->words_capacity, need, sizeof(*b->words));
	at = b->words + b->nr_words;
	if (b->with_numbers)
		*at++ = number;
	if (b->with_events)
		at = mempcpy(at, &share->events, sizeof(share->events));
	at = mempcpy(at, &share->weight, sizeof(share->weight));
	b->nr_words += b->head;
	at = write_codes(b, s, share->comm, at);
	*at++ = 0;
	b->lines[b->nr_lines++] = stack_item(b->words, b->nr_words);
	b->nr_words = (size_t)(at - b->words);
}

static void write_lines(struct builder *b)
{
	size_t nr = b->groups ? b->nr_groups : b->p->nr_samples;
	struct share share;

	b->with_events = column_table[b->tree->column].counted_by != b->tree->column;
	b->with_numbers = b->tree->sample_nodes;
	b->head = 2 + 2 * b->with_events + b->with_numbers;
	b->lines = xreallocarray(NULL, nr, sizeof(*b->lines));
	for (size_t i = 0; i < nr; i++) {
		if (b->groups) {
			const struct group *g = &b->groups[i];

			share = (struct share){ g->weight, g->samples, g->comm };
			write_line(b, (uint32_t)i, g->stack, &share);
		} else if (share_of(b, &b->p->samples[i], &share)) {
			write_line(b, (uint32_t)i, b->p->samples[i].stack, &share);
		}
	}
}

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
	b->path[depth] = node;
	tree->nodes[node] = (struct tree_node){
		.function = CODE_FUNCTION(code),
		.parent = depth ? b->path[depth - 1] : 0,
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

/* How many frames the two lines share; a node that is not inlined in both is not inlined. */
static uint32_t shared_frames(struct builder *b, const uint32_t *last, const uint32_t *line)
{
	uint32_t i;

	for (i = 0; last[i] && CODE_FUNCTION(last[i]) == CODE_FUNCTION(line[i]); i++)
		if (last[i] != line[i])
			b->tree->nodes[b->path[i + 1]].inlined = 0;
	return i;
}

static void add_line(struct builder *b, const uint32_t *line, uint32_t node)
{
	struct tree_node *n = &b->tree->nodes[node];
	uint64_t weight, events;

	memcpy(&weight, line - 2, sizeof(weight));
	n->self += weight;
	if (b->with_events) {
		memcpy(&events, line - 4, sizeof(events));
		b->tree->events[node].self += events;
	}
	if (!b->with_numbers)
		return;
	if (b->groups)
		b->groups[line[-(int)b->head]].node = node;
	else
		b->tree->sample_nodes[line[-(int)b->head]] = node;
}

static void build_nodes(struct builder *b)
{
	struct tree *tree = b->tree;
	const uint32_t *last = NULL;
	uint32_t depth = 0, shared;

	/* Memory of nodes to come is the sorter's until then. */
	_Static_assert(sizeof(*tree->nodes) == 2 * sizeof(*b->lines), "half as many hold them");
	tree->nodes = xgrow(NULL, &b->nodes_capacity, b->nr_lines / 2 + 1, sizeof(*tree->nodes));
	stack_sort(b->lines, b->nr_lines, b->words, (struct stack_item *)tree->nodes);
	open_node(b, 0, 0);
	for (size_t i = 0; i < b->nr_lines; i++) {
		const uint32_t *line = b->words + b->lines[i].line;

		/* Sorted is not how lines lie in memory. */
		if (i + AHEAD < b->nr_lines) {
			__builtin_prefetch(b->words + b->lines[i + AHEAD].line - 2);
			__builtin_prefetch(b->words + b->lines[i + AHEAD].line + 4);
		}
		shared = last ? shared_frames(b, last, line) : 0;
		for (; depth > shared; depth--)
			close_node(tree, b->path[depth]);
		for (; line[depth]; depth++)
			open_node(b, depth + 1, line[depth]);
		add_line(b, line, b->path[depth]);
		last = line;
	}
	for (; depth; depth--)
		close_node(tree, b->path[depth]);
	close_node(tree, 0);
}

/* Those of groups know their group so far. */
static void place_samples(struct builder *b)
{
	uint32_t *nodes = b->tree->sample_nodes;

	for (size_t i = 0; nodes && b->groups && i < b->p->nr_samples; i++)
		if (nodes[i] != PROFILE_NONE)
			nodes[i] = b->groups[nodes[i]].node;
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
	struct builder b = { .p = p, .tree = xcalloc(1, sizeof(*b.tree)) };
	int err;

	b.tree->column = opts->column_given ? opts->column : column_default(p);
	b.tree->sample_nodes = opts->sample_nodes || opts->gil ? no_nodes(p) : NULL;
	b.frame_used = xcalloc(p->nr_frames + 1, sizeof(*b.frame_used));
	b.comm_used = xcalloc(p->nr_strings + 1, sizeof(*b.comm_used));
	if (p->nr_samples / 2 > p->nr_stacks)
		err = group_samples(&b);
	else
		err = look_at_samples(&b);
	if (err)
		goto out;
	tree_functions_init(&b.tree->functions, p, b.frame_used, b.comm_used,
			    opts->without_modules);
	find_codes(&b);
	write_lines(&b);
	build_nodes(&b);
	place_samples(&b);
	if (opts->gil)
		add_up_gil(b.tree, p);
	if (!opts->sample_nodes) {
		free(b.tree->sample_nodes);
		b.tree->sample_nodes = NULL;
	}
out:
	free(b.frame_used);
	free(b.code_of);
	free(b.comm_used);
	free(b.groups);
	free(b.lines);
	free(b.words);
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
