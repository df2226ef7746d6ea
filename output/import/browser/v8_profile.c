/*
 * Makes stacks of nodes. A node names its parent, or its children, by ids that may come in any
 * order, so nodes are sorted by id before the stacks are made. A sample lasts until the next one.
 */
#include "output/import/browser/v8_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

enum { MAX_DEPTH = 4096 }; /* V8 itself notes 255 frames */

static void read_call_frame(struct json_input *in, struct v8_node *n)
{
	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "functionName"))
			n->name = json_input_string(in);
		else if (json_input_is(in, "url"))
			n->url = json_input_string(in);
		else if (json_input_is(in, "lineNumber"))
			n->line = json_u32(json_input_number(in, -1) + 1); /* counted from 0 */
		else
			json_skip(&in->json);
	}
}

static struct v8_node *add_node(struct v8_profile *v)
{
	v->nodes = xgrow(v->nodes, &v->nodes_capacity, v->nr_nodes + 1, sizeof(*v->nodes));
	v->nodes[v->nr_nodes] = (struct v8_node){ 0 };
	return &v->nodes[v->nr_nodes++];
}

static void add_links(struct v8_links *links, double parent, const struct json_numbers *children)
{
	for (size_t i = 0; i < children->nr; i++) {
		links->parents = xgrow(links->parents, &links->parents_capacity, links->nr + 1,
				       sizeof(*links->parents));
		links->children = xgrow(links->children, &links->children_capacity, links->nr + 1,
					sizeof(*links->children));
		links->parents[links->nr] = parent;
		links->children[links->nr++] = children->list[i];
	}
}

static void read_node(struct json_input *in, struct v8_profile *v)
{
	struct json_numbers children = { 0 };
	struct v8_node *n = add_node(v);

	json_enter(&in->json, '{');
	while (json_input_key(in)) {
		if (json_input_is(in, "id"))
			n->id = json_input_number(in, 0);
		else if (json_input_is(in, "parent"))
			n->parent = json_input_number(in, 0);
		else if (json_input_is(in, "callFrame"))
			read_call_frame(in, n);
		else if (json_input_is(in, "children"))
			json_input_numbers(in, &children);
		else
			json_skip(&in->json);
	}
	add_links(&v->links, n->id, &children);
	json_numbers_fini(&children);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct v8_node *x = a, *y = b;

	return ORDER(x->id, y->id);
}

static struct v8_node *find_node(const struct v8_profile *v, double id)
{
	const struct v8_node key = { .id = id };

	return v->nr_nodes && id > 0
		       ? bsearch(&key, v->nodes, v->nr_nodes, sizeof(key), compare_nodes)
		       : NULL;
}

/* Sorts the nodes and finds their parents, once all are read: a trace has them in many parts. */
static void link_nodes(struct v8_profile *v)
{
	const struct v8_links *links = &v->links;

	if (v->nr_nodes)
		qsort(v->nodes, v->nr_nodes, sizeof(*v->nodes), compare_nodes);
	for (size_t i = 0; i < links->nr; i++) {
		struct v8_node *child = find_node(v, links->children[i]);

		if (child && !child->parent)
			child->parent = links->parents[i];
	}
	for (size_t i = 0; i < v->nr_nodes; i++)
		v->nodes[i].above = find_node(v, v->nodes[i].parent);
}

static void read_nodes(struct json_input *in, struct v8_profile *v)
{
	if (!json_input_enter(in, '['))
		return;
	while (json_element(&in->json))
		read_node(in, v);
}

/* Adds the numbers of an array to those that are there. */
static void add_numbers(struct json_input *in, struct json_numbers *all)
{
	struct json_numbers more = { 0 };

	json_input_numbers(in, &more);
	if (more.nr) {
		all->list = xgrow(all->list, &all->capacity, all->nr + more.nr, sizeof(*all->list));
		memcpy(all->list + all->nr, more.list, more.nr * sizeof(*more.list));
		all->nr += more.nr;
	}
	json_numbers_fini(&more);
}

void v8_profile_read_time(struct json_input *in, struct v8_profile *v)
{
	if (json_input_is(in, "timeDeltas"))
		add_numbers(in, &v->deltas);
	else if (json_input_is(in, "startTime"))
		v->start_us = json_input_number(in, 0);
	else if (json_input_is(in, "endTime"))
		v->end_us = json_input_number(in, 0);
	else
		json_skip(&in->json);
}

void v8_profile_read(struct json_input *in, struct v8_profile *v)
{
	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "nodes"))
			read_nodes(in, v);
		else if (json_input_is(in, "samples"))
			add_numbers(in, &v->samples);
		else
			v8_profile_read_time(in, v);
	}
}

/* "(program)", "(idle)" and "(garbage collector)" are V8's own; everything else it compiled. */
static uint32_t frame_of(struct profile *p, struct v8_node *n)
{
	const char *name = profile_str(p, n->name);
	struct import_function f = {
		.name = *name ? n->name : profile_cstring(p, "(anonymous)"),
		.file = n->url,
		.start_line = n->url ? n->line : 0,
		.module = PROFILE_NONE,
		.kind = *name == '(' && !n->url ? FUNCTION_NATIVE : FUNCTION_JIT,
	};

	f.system_name = f.name;
	if (!n->frame)
		n->frame = import_frame(p, &f, 1) + 1;
	return n->frame - 1;
}

static uint32_t stack_of(struct json_input *in, struct v8_profile *v, double id)
{
	struct v8_node *leaf = find_node(v, id);
	uint32_t frames[MAX_DEPTH], stack;
	size_t nr = 0;

	if (leaf && leaf->stack)
		return leaf->stack - 1;
	/* The root, "(root)", is not a function. A hostile file may have no root. */
	for (struct v8_node *n = leaf; n && n->parent && nr < MAX_DEPTH; n = n->above)
		frames[nr++] = frame_of(in->p, n);
	stack = import_stack(in->p, frames, nr);
	if (leaf)
		leaf->stack = stack + 1;
	return stack;
}

void v8_profile_add_samples(struct json_input *in, struct v8_profile *v)
{
	double at = v->start_us, total = 0;

	link_nodes(v);
	if (v->samples.nr != v->deltas.nr) {
		in->problem = "it has more samples than times, or fewer";
		return;
	}
	for (size_t i = 0; i < v->samples.nr && !in->problem; i++) {
		struct profile_sample s = { .thread = v->thread, .column = COLUMN_WALL };
		double weight;

		at += isfinite(v->deltas.list[i]) ? v->deltas.list[i] : 0;
		weight = i + 1 < v->samples.nr ? v->deltas.list[i + 1] : v->end_us - at;
		if (!(weight > 0))
			weight = 0; /* V8 notes some samples late; the last may have no end */
		total += weight * 1e3;
		if (!(total < (double)TREE_MAX_TOTAL)) {
			in->problem = "its sum is too large";
			return;
		}
		s.weight = (uint64_t)llround(weight * 1e3);
		s.stack = stack_of(in, v, v->samples.list[i]);
		if (s.weight)
			profile_add_sample(in->p, &s);
	}
	in->p->meta.weighted = true;
	if (v->end_us > v->start_us && v->end_us - v->start_us < 1e15)
		in->p->meta.end_ns = (uint64_t)((v->end_us - v->start_us) * 1e3);
}

void v8_profile_fini(struct v8_profile *v)
{
	free(v->nodes);
	free(v->links.parents);
	free(v->links.children);
	json_numbers_fini(&v->samples);
	json_numbers_fini(&v->deltas);
	*v = (struct v8_profile){ 0 };
}
