/*
 * Merges two trees. The functions of both get common codes; then the paths of all nodes with self
 * time are written out as lines of codes and sorted, as tree.c does with stacks, which brings equal
 * paths of both trees together.
 */
#include "output/tree/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "output/tree/label.h"
#include "output/tree/margins.h"
#include "output/text/number.h"
#include "output/tree/stack_sort.h"

/* Widths of removed paths have at least this resolution, however few samples there are. */
#define FINEST_WHOLE (UINT64_C(1) << 40)

struct merger {
	const struct tree *sides[2]; /* before, after */
	struct diff *diff;
	uint32_t *map[2];	  /* function of a side -> function of the diff */
	struct stack_item *lines; /* .number is the node of its tree */
	size_t nr_lines;
	uint32_t *codes;
	size_t first_after; /* offset in codes of the first line of after */
	uint32_t *path;	    /* by depth: node of the current line */
	uint32_t nr_merged; /* of the lines, in order */
	size_t nodes_capacity, before_capacity, after_capacity, path_capacity;
};

/* A function of either side, to be sorted. */
struct candidate {
	const struct tree_function *function;
	uint32_t side, index;
};

/* The size of a name without its line number, as a Python function may have moved in its file. */
static size_t lasting_size(const struct tree_function *f)
{
	size_t n = strlen(f->name);

	return f->kind == FUNCTION_PYTHON ? label_without_place(f->name, n) : n;
}

/* Ignores the directories of modules, which may differ before and after. */
static int compare_functions(const struct tree_function *x, const struct tree_function *y)
{
	size_t n = lasting_size(x), m = lasting_size(y);

	return memcmp(x->name, y->name, n < m ? n : m) ?: ORDER(n, m)
	       ?: strcmp(x->module, y->module) ?: (int)x->kind - (int)y->kind;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	/* After comes first, as its file and line are the current ones. */
	return compare_functions(x->function, y->function) ?: (int)y->side - (int)x->side
	       ?: ORDER(x->index, y->index);
}

static void merge_functions(struct merger *m)
{
	struct tree_functions *t = &m->diff->tree->functions;
	size_t nr = m->sides[0]->functions.nr + m->sides[1]->functions.nr, n = 0;
	struct candidate *all = xcalloc(nr, sizeof(*all));

	for (uint32_t side = 0; side < 2; side++) {
		const struct tree_functions *from = &m->sides[side]->functions;

		m->map[side] = xcalloc(from->nr, sizeof(*m->map[side]));
		for (uint32_t i = 1; i < from->nr; i++)
			all[n++] = (struct candidate){ &from->list[i], side, i };
	}
	qsort(all, n, sizeof(*all), compare_candidates);
	t->list = xcalloc(n + 1, sizeof(*t->list));
	t->list[t->nr++] = m->sides[1]->functions.list[0];
	for (size_t i = 0; i < n; i++) {
		struct tree_function *last = &t->list[t->nr - 1];

		if (!i || compare_functions(all[i - 1].function, all[i].function)) {
			t->list[t->nr++] = *all[i].function;
		} else if (!*last->file) {
			last->file = all[i].function->file;
			last->line = all[i].function->line;
		}
		m->map[all[i].side][all[i].index] = (uint32_t)t->nr - 1;
	}
	free(all);
}

static bool has_self(const struct tree *tree, const struct tree_node *n)
{
	return tree_self(tree, n) || tree_events_of(tree, n).self;
}

static struct stack_words words_of(const struct merger *m)
{
	return stack_words(m->codes, NULL, (uint32_t)m->diff->tree->functions.nr);
}

static void write_line(struct merger *m, int side, uint32_t node, size_t at)
{
	const struct stack_words words = words_of(m);
	const struct tree *tree = m->sides[side];
	uint32_t depth = tree->nodes[node].depth, *codes = m->codes + at;

	codes[depth] = 0;
	for (uint32_t i = node; depth--; i = tree->nodes[i].parent)
		codes[depth] = m->map[side][tree->nodes[i].function] |
			       (tree->nodes[i].inlined ? CODE_INLINED : 0);
	m->lines[m->nr_lines++] = stack_item(&words, at, node);
}

static int write_lines(struct merger *m)
{
	size_t need = 0, nr = 0, at = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < m->sides[side]->nr_nodes; i++)
			if (has_self(m->sides[side], &m->sides[side]->nodes[i])) {
				need += m->sides[side]->nodes[i].depth + 1;
				nr++;
			}
	if (need > STACK_SORT_MAX)
		return -EFBIG;
	m->lines = xcalloc(nr + 1, sizeof(*m->lines));
	m->codes = xcalloc(need + 1, sizeof(*m->codes));
	for (int side = 0; side < 2; side++) {
		const struct tree *tree = m->sides[side];

		m->first_after = at;
		for (uint32_t i = 0; i < tree->nr_nodes; i++) {
			if (!has_self(tree, &tree->nodes[i]))
				continue;
			write_line(m, side, i, at);
			at += tree->nodes[i].depth + 1;
		}
	}
	return 0;
}

static void open_node(struct merger *m, uint32_t depth, uint32_t code)
{
	struct diff *d = m->diff;
	uint32_t node = d->tree->nr_nodes++;

	d->tree->nodes = xgrow(d->tree->nodes, &m->nodes_capacity, (size_t)node + 1,
			       sizeof(*d->tree->nodes));
	d->before = xgrow(d->before, &m->before_capacity, (size_t)node + 1, sizeof(*d->before));
	d->after = xgrow(d->after, &m->after_capacity, (size_t)node + 1, sizeof(*d->after));
	d->after[node] = (struct diff_equal){ 0 };
	m->path = xgrow(m->path, &m->path_capacity, (size_t)depth + 1, sizeof(*m->path));
	m->path[depth] = node;
	d->before[node] = (struct diff_side){ 0 };
	d->tree->nodes[node] = (struct tree_node){
		.function = FRAME_FUNCTION(code),
		.parent = depth ? m->path[depth - 1] : 0,
		.depth = depth,
		.inlined = (code & CODE_INLINED) != 0,
		.line = m->nr_merged,
	};
}

/*
 * The number of leading functions that two lines share. A node counts as inlined if it is in both.
 */
static uint32_t shared_frames(struct merger *m, const uint32_t *a, const uint32_t *b)
{
	uint32_t i;

	for (i = 0; a[i] && FRAME_FUNCTION(a[i]) == FRAME_FUNCTION(b[i]); i++)
		if (a[i] != b[i])
			m->diff->tree->nodes[m->path[i + 1]].inlined = 0;
	return i;
}

/* diff_amount.equal of a node's self. At least 1 where it has samples: they have some variance. */
static uint64_t equal_of(const struct merger *m, bool after, uint32_t node)
{
	const struct tree *tree = m->sides[after];
	double step, equal;

	if (!m->diff->has_variances || !tree_self(tree, &tree->nodes[node]))
		return 0;
	step = (double)tree->margins->step;
	equal = tree->margins->variances[node] / (step * step);
	return equal > 1 ? (uint64_t)llround(equal) : 1;
}

static void add_line(struct merger *m, const struct stack_item *line, uint32_t node)
{
	bool after = line->line >= m->first_after;
	const struct tree_node *from = &m->sides[after]->nodes[line->number];
	struct diff_amount here = { tree_self(m->sides[after], from),
				    tree_events_of(m->sides[after], from).self,
				    equal_of(m, after, line->number) };
	struct tree *tree = m->diff->tree;
	uint32_t line_nr = m->nr_merged++;

	if (after)
		m->diff->after[node].self += here.equal;
	else
		diff_amount_add(&m->diff->before[node].self, &here);
	tree->sums[line_nr + 1] = tree->sums[line_nr] + (after ? here.value : 0);
	tree->event_sums[line_nr + 1] = tree->event_sums[line_nr] + (after ? here.samples : 0);
}

static void merge_nodes(struct merger *m)
{
	const struct stack_words words = words_of(m);
	const uint32_t *last = NULL;

	stack_sort(m->lines, m->nr_lines, &words, NULL);
	m->diff->tree->sums = xcalloc(m->nr_lines + 1, sizeof(uint64_t));
	m->diff->tree->event_sums = xcalloc(m->nr_lines + 1, sizeof(uint64_t));
	open_node(m, 0, 0);
	for (size_t i = 0; i < m->nr_lines; i++) {
		const uint32_t *codes = m->codes + m->lines[i].line;
		uint32_t depth = last ? shared_frames(m, last, codes) : 0;

		for (; codes[depth]; depth++)
			open_node(m, depth + 1, codes[depth]);
		add_line(m, &m->lines[i], m->path[depth]);
		last = codes;
	}
	open_node(m, 0, 0); /* [nr_nodes], which ends the sums: see tree_self() */
	m->diff->tree->nr_nodes--;
}

static void add_up(struct diff *d)
{
	struct tree_node *nodes = d->tree->nodes;

	for (uint32_t i = d->tree->nr_nodes; i--;) {
		struct tree_node *n = &nodes[i], *parent = &nodes[n->parent];

		d->after[i].total += d->after[i].self;
		diff_amount_add(&d->before[i].total, &d->before[i].self);
		if (!n->end)
			n->end = i + 1;
		if (!i)
			break;
		d->after[n->parent].total += d->after[i].total;
		diff_amount_add(&d->before[n->parent].total, &d->before[i].total);
		if (parent->end < n->end)
			parent->end = n->end;
	}
	d->whole_before = d->before[0].total;
	d->whole_after =
		(struct diff_amount){ tree_total(d->tree, nodes),
				      tree_events_of(d->tree, nodes).total, d->after[0].total };
}

/*
 * By node: was its path removed, and is that significant? There are always many paths of a few
 * samples that one recording happens to miss, and these mean nothing.
 */
static bool *find_removed(const struct diff *d)
{
	const struct tree_node *nodes = d->tree->nodes;
	bool *removed = xcalloc(d->tree->nr_nodes, sizeof(*removed));

	for (uint32_t i = 0; i < d->tree->nr_nodes; i++) {
		if (tree_total(d->tree, &nodes[i]))
			continue;
		if (i && !tree_total(d->tree, &nodes[nodes[i].parent]))
			removed[i] = removed[nodes[i].parent];
		else
			removed[i] = diff_total_of(d, i).significant;
	}
	return removed;
}

static void add_up_removed(struct diff *d)
{
	bool *removed = find_removed(d);
	uint64_t from = d->whole_before.value, to = d->whole_after.value;
	uint32_t nr = d->tree->nr_nodes;

	if (d->absolute || !to)
		to = from;
	while (to && to << d->width_shift < FINEST_WHOLE)
		d->width_shift++;
	d->removed_self = xcalloc(nr, sizeof(*d->removed_self));
	d->removed_total = xcalloc(nr, sizeof(*d->removed_total));
	for (uint32_t i = nr; i--;) {
		if (removed[i])
			d->removed_self[i] =
				number_scale(d->before[i].self.value, to << d->width_shift, from);
		d->removed_total[i] += d->removed_self[i];
		if (i)
			d->removed_total[d->tree->nodes[i].parent] += d->removed_total[i];
	}
	free(removed);
}

/* Events are compared by name: their columns depend on the other events of their profiles. */
static bool count_the_same(const struct tree *before, const struct tree *after)
{
	if (column_is_event(before->column) && column_is_event(after->column))
		return !strcmp(before->info->name, after->info->name);
	return before->column == after->column;
}

int diff_new(const struct tree *before, const struct tree *after, bool absolute,
	     struct diff **ret_diff)
{
	struct merger m = { .sides = { before, after } };
	uint64_t nr_before = tree_events_of(before, before->nodes).total;
	uint64_t nr_after = tree_events_of(after, after->nodes).total;
	struct diff *d;
	int err;

	if (absolute && !count_the_same(before, after) && nr_before && nr_after)
		return -EINVAL;
	if (tree_total(before, before->nodes) + tree_total(after, after->nodes) >= TREE_MAX_TOTAL)
		return -ERANGE;
	d = m.diff = xcalloc(1, sizeof(*d));
	d->absolute = absolute;
	d->exact = before->info->exact && after->info->exact;
	d->has_variances = before->margins && after->margins;
	if (d->has_variances) {
		d->step_before = before->margins->step;
		d->step_after = after->margins->step;
	}
	d->tree = xcalloc(1, sizeof(*d->tree));
	d->tree->column = nr_after ? after->column : before->column;
	d->tree->info = nr_after ? after->info : before->info;
	merge_functions(&m);
	err = write_lines(&m);
	if (!err) {
		merge_nodes(&m);
		add_up(d);
		add_up_removed(d);
		*ret_diff = d;
	} else {
		diff_free(d);
	}
	free(m.map[0]);
	free(m.map[1]);
	free(m.lines);
	free(m.codes);
	free(m.path);
	return err;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	tree_free(diff->tree);
	free(diff->before);
	free(diff->after);
	free(diff->removed_self);
	free(diff->removed_total);
	free(diff);
}
