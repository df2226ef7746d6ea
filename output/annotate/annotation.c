/*
 * Adds up the samples of the functions to be annotated. Lines form a forest: a root per function,
 * below it its lines, below a line the functions that were inlined there, and so on. A frame
 * belongs to one node for each matching function in it; a sample is added from that node up to the
 * root, and stops at a node that already counted the same stack.
 */
#include "output/annotate/annotation.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/intern.h"
#include "output/tree/naming.h"
#include "output/tree/stack_sums.h"

enum {
	LEVELS_MAX = 32,	/* levels of inlining; deeper ones are counted at the deepest */
	LOCATIONS_MAX = 256,	/* locations of a frame; compilers reach 30 */
	NO_NODE = PROFILE_NONE, /* the parent of a root */
};

struct key {
	uint32_t parent, function, line;
	uint32_t file; /* string id: functions of the same name can come from several files */
};

struct node {
	struct key key;
	struct annotation_sum sum;
	const char *plain; /* of a root: its name in the profile, not cleaned */
	uint32_t stamp;	   /* 1 + the last stack counted here */
};

/* A frame in one of the functions. */
struct use {
	uint32_t frame, root, node, stamp;
	struct annotation_sum sum;
};

struct adder {
	const struct profile *p;
	const struct tree_functions *names;
	struct node *nodes;
	struct use *uses;  /* by frame */
	size_t *first_use; /* by frame; one more for the end */
	size_t nr_nodes, nr_uses, nodes_capacity, uses_capacity;
	struct intern index;
};

static bool node_equals(const void *owner, uint32_t id, const void *key)
{
	const struct adder *a = owner;

	return !memcmp(&a->nodes[id].key, key, sizeof(struct key));
}

static uint32_t node_of(struct adder *a, const struct key *key)
{
	uint32_t id = intern_id(&a->index, (uint32_t)XXH3_64bits(key, sizeof(*key)),
				(uint32_t)a->nr_nodes, node_equals, a, key);

	if (id == a->nr_nodes) {
		a->nodes = xgrow(a->nodes, &a->nodes_capacity, a->nr_nodes + 1, sizeof(*a->nodes));
		a->nodes[a->nr_nodes++] = (struct node){ .key = *key };
	}
	return id;
}

static uint32_t line_node(struct adder *a, uint32_t parent, uint32_t code, uint32_t frame,
			  size_t location)
{
	const struct profile_frame *f = &a->p->frames[frame];
	struct key key = { .parent = parent, .function = FRAME_FUNCTION(code) };

	if (f->nr_locations) {
		const struct profile_location *l = &a->p->locations[f->first_location + location];

		key.line = l->line;
		key.file = a->p->functions[l->function].file;
	}
	return node_of(a, &key);
}

/* Adds a use of the function at location `at`: its line there, and the lines inlined below it. */
static void add_use(struct adder *a, uint32_t frame, const uint32_t *codes, size_t at, size_t nr)
{
	const struct profile_frame *f = &a->p->frames[frame];
	const struct key key = { NO_NODE, FRAME_FUNCTION(codes[at]), 0, 0 };
	uint32_t root = node_of(a, &key), node = root;

	if (f->nr_locations)
		a->nodes[root].plain = profile_str(
			a->p,
			a->p->functions[a->p->locations[f->first_location + at].function].name);
	for (size_t i = at; i < nr && i - at < LEVELS_MAX; i++)
		node = line_node(a, node, codes[i], frame, i);
	a->uses = xgrow(a->uses, &a->uses_capacity, a->nr_uses + 1, sizeof(*a->uses));
	a->uses[a->nr_uses++] = (struct use){ .frame = frame, .root = root, .node = node };
}

static bool is_first(const uint32_t *codes, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (FRAME_FUNCTION(codes[i]) == FRAME_FUNCTION(codes[at]))
			return false;
	return true;
}

static void find_uses(struct adder *a, const bool *fits, const bool *used)
{
	const struct tree_functions *names = a->names;

	a->first_use = xcalloc(a->p->nr_frames + 1, sizeof(*a->first_use));
	for (uint32_t f = 0; f < a->p->nr_frames; f++) {
		const uint32_t *codes = names->codes + names->first[f];
		size_t nr = used[f] ? names->first[f + 1] - names->first[f] : 0;

		a->first_use[f] = a->nr_uses;
		if (nr > LOCATIONS_MAX)
			nr = LOCATIONS_MAX;
		for (size_t i = 0; i < nr; i++)
			if (fits[FRAME_FUNCTION(codes[i])] && is_first(codes, i))
				add_use(a, f, codes, i, nr);
	}
	a->first_use[a->p->nr_frames] = a->nr_uses;
}

static void add_total(struct annotation_sum *sum, uint64_t weight, uint64_t samples)
{
	sum->total += weight;
	sum->total_samples += samples;
}

static void add_self(struct annotation_sum *sum, uint64_t weight, uint64_t samples)
{
	sum->self += weight;
	sum->self_samples += samples;
}

static void add_stack(struct adder *a, uint32_t stack, uint64_t weight, uint64_t samples)
{
	const struct profile_stack *s = &a->p->stacks[stack];
	const uint32_t *frames = &a->p->stack_frames[s->first_frame];
	uint32_t stamp = stack + 1, leaf;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		for (size_t u = a->first_use[frames[i]]; u < a->first_use[frames[i] + 1]; u++) {
			struct use *use = &a->uses[u];

			if (use->stamp == stamp)
				continue;
			use->stamp = stamp;
			add_total(&use->sum, weight, samples);
			for (uint32_t n = use->node; n != NO_NODE && a->nodes[n].stamp != stamp;
			     n = a->nodes[n].key.parent) {
				a->nodes[n].stamp = stamp;
				add_total(&a->nodes[n].sum, weight, samples);
			}
		}
	}
	if (!s->nr_frames)
		return;
	leaf = frames[s->nr_frames - 1];
	for (size_t u = a->first_use[leaf]; u < a->first_use[leaf + 1]; u++) {
		add_self(&a->uses[u].sum, weight, samples);
		for (uint32_t n = a->uses[u].node; n != NO_NODE; n = a->nodes[n].key.parent)
			add_self(&a->nodes[n].sum, weight, samples);
	}
}

static void add_samples(struct adder *a, enum profile_column column)
{
	const struct profile *p = a->p;
	struct stack_sums sums;

	stack_sums_init(&sums, p, column);
	for (uint32_t i = 0; i < p->nr_stacks; i++)
		if (sums.weights[i] || sums.samples[i])
			add_stack(a, i, sums.weights[i], sums.samples[i]);
	stack_sums_fini(&sums);
}

static int compare_nodes(const void *x, const void *y, void *context)
{
	const struct adder *adder = context;
	const struct key *a = &adder->nodes[*(const uint32_t *)x].key;
	const struct key *b = &adder->nodes[*(const uint32_t *)y].key;

	return ORDER(a->parent, b->parent) ?: ORDER(a->line, b->line)
	       ?: ORDER(a->function, b->function)
	       ?: strcmp(profile_str(adder->p, a->file), profile_str(adder->p, b->file));
}

struct forest {
	const struct adder *a;
	struct annotations *result;
	uint32_t *order;       /* nodes; the children of a parent are adjacent */
	uint32_t *first_child; /* by node: its children's first index in `order`; nr_nodes = none */
	size_t nr_lines;
};

static void add_lines(struct forest *f, uint32_t parent, uint32_t level)
{
	const struct node *nodes = f->a->nodes;

	for (size_t i = f->first_child[parent];
	     i < f->a->nr_nodes && nodes[f->order[i]].key.parent == parent; i++) {
		const struct node *n = &nodes[f->order[i]];

		if (annotation_sum_is_empty(&n->sum))
			continue;
		f->result->lines[f->nr_lines++] = (struct annotation_line){
			.level = level,
			.function = n->key.function,
			.file = profile_str(f->a->p, n->key.file),
			.line = n->key.line,
			.sum = n->sum,
		};
		add_lines(f, f->order[i], level + 1);
	}
}

/* Sorts by content: nodes were made in the order of the input, which must not show. */
static void make_annotations(struct annotations *r, const struct adder *a)
{
	struct forest f = { .a = a, .result = r };
	size_t nr = a->nr_nodes;

	f.order = xcalloc(nr + 1, sizeof(*f.order));
	f.first_child = xcalloc(nr + 1, sizeof(*f.first_child));
	for (uint32_t i = 0; i < nr; i++) {
		f.order[i] = i;
		f.first_child[i] = (uint32_t)nr;
	}
	qsort_r(f.order, nr, sizeof(*f.order), compare_nodes, (void *)a);
	for (size_t i = nr; i--;) {
		uint32_t parent = a->nodes[f.order[i]].key.parent;

		if (parent != NO_NODE)
			f.first_child[parent] = (uint32_t)i;
	}
	r->lines = xcalloc(nr + 1, sizeof(*r->lines));
	r->list = xcalloc(nr + 1, sizeof(*r->list));
	for (uint32_t i = 0; i < nr; i++) {
		const struct node *n = &a->nodes[i];
		struct annotation *x = &r->list[r->nr];
		size_t first = f.nr_lines;

		if (n->key.parent != NO_NODE || annotation_sum_is_empty(&n->sum))
			continue;
		add_lines(&f, i, 0);
		*x = (struct annotation){ .function = n->key.function,
					  .plain = n->plain,
					  .sum = n->sum,
					  .lines = r->lines + first,
					  .nr_lines = f.nr_lines - first };
		r->nr++;
	}
	free(f.order);
	free(f.first_child);
}

static int compare_uses(const void *x, const void *y, void *context)
{
	const struct adder *a = context;
	const struct use *u = x, *v = y;
	const struct profile_frame *f = &a->p->frames[u->frame], *g = &a->p->frames[v->frame];

	if (u->root != v->root) {
		uint32_t m = a->nodes[u->root].key.function, n = a->nodes[v->root].key.function;

		return m < n ? -1 : 1;
	}
	return ORDER(f->module, g->module) ?: ORDER(f->address, g->address);
}

static void add_sum(struct annotation_sum *to, const struct annotation_sum *sum)
{
	add_self(to, sum->self, sum->self_samples);
	add_total(to, sum->total, sum->total_samples);
}

/*
 * Collects the sorted addresses of a root. An address comes several times if filters split its
 * frame.
 */
static void make_addresses(struct annotations *r, struct adder *a)
{
	struct annotation **of_function = xcalloc(r->names.nr + 1, sizeof(struct annotation *));
	size_t nr = 0;

	if (a->nr_uses)
		qsort_r(a->uses, a->nr_uses, sizeof(*a->uses), compare_uses, a);
	for (size_t i = 0; i < r->nr; i++)
		of_function[r->list[i].function] = &r->list[i];
	r->addresses = xcalloc(a->nr_uses + 1, sizeof(*r->addresses));
	for (size_t i = 0; i < a->nr_uses; i++) {
		const struct use *u = &a->uses[i];
		const struct profile_frame *f = &a->p->frames[u->frame];
		struct annotation *x = of_function[a->nodes[u->root].key.function];
		struct annotation_address *last = nr ? &r->addresses[nr - 1] : NULL;

		if (!x || annotation_sum_is_empty(&u->sum))
			continue;
		if (!x->nr_addresses)
			x->addresses = &r->addresses[nr];
		if (x->nr_addresses && last->module == f->module && last->address == f->address) {
			add_sum(&last->sum, &u->sum);
			continue;
		}
		r->addresses[nr++] = (struct annotation_address){ f->module, f->address, u->sum };
		x->nr_addresses++;
	}
	free(of_function);
}

static int compare_annotations(const void *x, const void *y, void *key)
{
	const struct annotation *a = x, *b = y;

	return ranking_order(*(enum ranking_key *)key, a->sum.self, a->sum.total, b->sum.self,
			     b->sum.total)
		       ?: ORDER(a->function, b->function);
}

void annotations_init(struct annotations *r, const struct profile *p, enum profile_column column,
		      const struct pattern *pattern, enum ranking_key key)
{
	struct adder a = { .p = p, .names = &r->names };
	bool *fits, *used = naming_frames_used(p);

	*r = (struct annotations){ 0 };
	naming_init(&r->names, p);
	fits = xcalloc(r->names.nr + 1, sizeof(*fits));
	for (size_t i = 1; i < r->names.nr; i++)
		fits[i] = pattern_fits(pattern, &r->names.list[i]);
	find_uses(&a, fits, used);
	add_samples(&a, column);
	make_annotations(r, &a);
	make_addresses(r, &a);
	qsort_r(r->list, r->nr, sizeof(*r->list), compare_annotations, &key);
	free(fits);
	free(used);
	free(a.nodes);
	free(a.uses);
	free(a.first_use);
	intern_fini(&a.index);
}

void annotations_fini(struct annotations *r)
{
	tree_functions_fini(&r->names);
	free(r->list);
	free(r->lines);
	free(r->addresses);
	*r = (struct annotations){ 0 };
}
