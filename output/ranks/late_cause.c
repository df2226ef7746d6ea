/*
 * Finds the cause in a tree of call paths by name, with two sums at each node: of the late rank,
 * and of the others. From the root, the way follows the child with most of the excess for as long
 * as one has at least half of its parent's.
 */
#include "output/ranks/late_cause.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/base/path.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/ranks/lane_match.h"
#include "output/ranks/rank_events.h"
#include "output/ranks/ranks.h"

#define MAX_STEPS 512
#define MAX_LOOKED_AT (1u << 22) /* samples and activities, for one cause */
#define MAX_NODES (1u << 20)	 /* of its tree: further calls count as their callers */

struct node {
	uint32_t parent, name;
	bool in_system;
	double own, others; /* ns */
};

struct late_causes {
	const struct ranks *r;
	struct rank_events *events; /* by profile */
	size_t nr_profiles;
	char **names; /* of functions and kernels of all profiles */
	size_t nr_names, names_capacity;
	struct number_map name_index;  /* by hash */
	struct number_map child_index; /* by parent and name; of the tree */
	struct node *nodes;
	size_t nr_nodes, nodes_capacity;
	size_t nr_looked_at;
	int64_t *scratch; /* for each rank */
};

static struct rank_events *events_of(struct late_causes *c, const struct profile *p)
{
	for (size_t i = 0; i < c->nr_profiles; i++)
		if (c->events[i].p == p)
			return &c->events[i];
	rank_events_init(&c->events[c->nr_profiles], p);
	return &c->events[c->nr_profiles++];
}

struct late_causes *late_causes_new(const struct ranks *r)
{
	struct late_causes *c = xcalloc(1, sizeof(*c));

	c->r = r;
	c->events = xcalloc(r->nr + 1, sizeof(*c->events));
	c->scratch = xcalloc(r->nr + 1, sizeof(*c->scratch));
	return c;
}

void late_causes_free(struct late_causes *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nr_profiles; i++)
		rank_events_fini(&c->events[i]);
	for (size_t i = 0; i < c->nr_names; i++)
		free(c->names[i]);
	free(c->names);
	free(c->nodes);
	free(c->events);
	free(c->scratch);
	number_map_fini(&c->name_index);
	number_map_fini(&c->child_index);
	free(c);
}

static uint32_t name_id(struct late_causes *c, const char *name)
{
	bool is_new;
	uint32_t *id = number_map_at(&c->name_index, XXH3_64bits(name, strlen(name)), &is_new);

	if (is_new) {
		*id = (uint32_t)c->nr_names;
		c->names = xgrow(c->names, &c->names_capacity, c->nr_names + 1, sizeof(*c->names));
		c->names[c->nr_names++] = xstrdup(name);
	}
	return *id;
}

static void tree_clear(struct late_causes *c)
{
	number_map_fini(&c->child_index);
	c->child_index = (struct number_map){ 0 };
	c->nodes = xgrow(c->nodes, &c->nodes_capacity, 1, sizeof(*c->nodes));
	c->nodes[0] = (struct node){ 0 };
	c->nr_nodes = 1;
	c->nr_looked_at = 0;
}

static uint32_t child(struct late_causes *c, uint32_t parent, const char *name, bool in_system)
{
	bool is_new;
	uint32_t id, *at;

	if (c->nr_nodes >= MAX_NODES)
		return parent;
	id = name_id(c, name);
	at = number_map_at(&c->child_index, (uint64_t)parent << 32 | id, &is_new);
	if (is_new) {
		*at = (uint32_t)c->nr_nodes;
		c->nodes = xgrow(c->nodes, &c->nodes_capacity, c->nr_nodes + 1, sizeof(*c->nodes));
		c->nodes[c->nr_nodes++] =
			(struct node){ .parent = parent, .name = id, .in_system = in_system };
	}
	return *at;
}

static void add_time(struct late_causes *c, uint32_t node, double own, double others)
{
	for (;; node = c->nodes[node].parent) {
		c->nodes[node].own += own;
		c->nodes[node].others += others;
		if (!node)
			return;
	}
}

/*
 * Code of the kernel, the C library, CUDA or NCCL, and markers: not where a program would be
 * changed.
 */
static bool is_in_system(const struct profile *p, const struct profile_frame *f)
{
	static const char *const libraries[] = { "libc.", "libc-",    "libpthread", "ld-",
						 "libm.", "libcuda.", "libcudart.", "libnccl." };
	const struct profile_module *m = &p->modules[f->module];
	const char *name = path_base_name(profile_str(p, m->path));

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (m->kind == MODULE_ELF && !strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return m->kind == MODULE_VDSO || m->kind == MODULE_KERNEL || m->kind == MODULE_MARKER;
}

typedef void add_name_fn(void *context, const char *name, bool in_system);

/* Calls add() for each name of a stack, from the root. */
static void each_name(const struct profile *p, uint32_t stack, add_name_fn *add, void *context)
{
	const struct profile_stack *s = &p->stacks[stack];
	char text[256];

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint32_t frame = p->stack_frames[s->first_frame + i];
		const struct profile_frame *f = &p->frames[frame];

		if (!f->nr_locations)
			add(context, profile_frame_fallback_name(p, frame, text, sizeof(text)),
			    true);
		for (uint32_t k = 0; k < f->nr_locations; k++) {
			uint32_t function = p->locations[f->first_location + k].function;

			add(context, profile_str(p, p->functions[function].name),
			    is_in_system(p, f));
		}
	}
}

struct descent {
	struct late_causes *c;
	uint32_t node;
};

static void descend(void *context, const char *name, bool in_system)
{
	struct descent *d = context;

	d->node = child(d->c, d->node, name, in_system);
}

static uint32_t node_of_stack(struct late_causes *c, const struct profile *p, uint32_t stack)
{
	struct descent d = { c, 0 };

	each_name(p, stack, descend, &d);
	return d.node;
}

/* The time before an arrival, of the profile's clock. */
struct window {
	int64_t from_ns, to_ns;
	double own, others; /* factors by which what is in it is added to those sums of a node */
};

/*
 * Is the sample of a thread that the operation depends on? Its caller; for an operation of the
 * host, which a thread of a pool may do for others, all that runs, and what the main thread waits
 * for.
 */
static bool counts(const struct profile *p, const struct rank_lane *lane, const struct rank_op *op,
		   const struct profile_sample *s)
{
	const struct profile_thread *t = &p->threads[s->thread];

	if (lane->way == COLLECTIVE_GPU && op->thread != PROFILE_NONE)
		return t->tid == p->threads[op->thread].tid;
	return s->column == COLUMN_CPU || t->tid == t->pid;
}

static void add_samples(struct late_causes *c, const struct rank *rank,
			const struct rank_lane *lane, const struct rank_op *op,
			const struct window *w)
{
	const struct rank_events *e = events_of(c, rank->p);
	const struct profile *p = rank->p;

	for (size_t i = rank_events_from(e->samples, e->nr_samples, rank->pid, w->from_ns);
	     i < e->nr_samples && e->samples[i].pid == rank->pid &&
	     e->samples[i].time_ns < w->to_ns && c->nr_looked_at < MAX_LOOKED_AT;
	     i++, c->nr_looked_at++) {
		const struct profile_sample *s = &p->samples[e->samples[i].index];
		double ns = (double)s->weight;

		if (counts(p, lane, op, s))
			add_time(c, node_of_stack(c, p, s->stack), ns * w->own, ns * w->others);
	}
}

/* The work of the operation's GPU, but for kernels that communicate: those wait for others. */
static void add_work(struct late_causes *c, const struct rank *rank, const struct rank_lane *lane,
		     const struct window *w)
{
	const struct rank_events *e = events_of(c, rank->p);
	const struct fact_gpu_activity *rows;
	size_t nr;

	rows = facts_rows(rank->p, FACT_GPU_ACTIVITY, &nr);
	for (size_t i = rank_events_from(e->activities, e->nr_activities, rank->pid,
					 w->from_ns - e->longest_ns);
	     i < e->nr_activities && e->activities[i].pid == rank->pid &&
	     e->activities[i].time_ns < w->to_ns && c->nr_looked_at < MAX_LOOKED_AT;
	     i++, c->nr_looked_at++) {
		const struct fact_gpu_activity *a = &rows[e->activities[i].index];
		int64_t from = (int64_t)a->start_ns, to = from + (int64_t)a->duration_ns;
		const char *name = profile_str(rank->p, (uint32_t)a->name);

		from = from > w->from_ns ? from : w->from_ns;
		to = to < w->to_ns ? to : w->to_ns;
		if (from < to && a->device == lane->device && !strstr(name, "nccl"))
			add_time(c, child(c, child(c, 0, "[work of the GPU]", false), name, false),
				 (double)(to - from) * w->own, (double)(to - from) * w->others);
	}
}

static const struct rank_op *op_before(const struct rank_lane *lane, const struct rank_op *op)
{
	return op > lane->ops ? op - 1 : NULL;
}

/* True if the call of the last member came late, false if the GPU did and the call was in time. */
static bool call_was_late(struct late_causes *c, const struct rank_collective *k, size_t last)
{
	const struct rank_communicator *group = &c->r->communicators[k->communicator];
	int64_t call = ranks_op(c->r, k, last)->call_ns;

	if (c->r->lanes[group->lanes[last]].way != COLLECTIVE_GPU)
		return true;
	for (size_t i = 0; i < group->nr; i++)
		c->scratch[i] = ranks_op(c->r, k, i)->call_ns;
	lane_sort_times(c->scratch, group->nr);
	return 2 * (call - c->scratch[(group->nr - 1) / 2]) >= (int64_t)k->late_ns;
}

/* Adds what all ranks did before they arrived. Returns whether the host was late, not the GPU. */
static bool add_collective(struct late_causes *c, const struct rank_collective *k,
			   uint32_t *ret_stack_lane)
{
	const struct rank_communicator *group = &c->r->communicators[k->communicator];
	size_t last = 0;
	bool host;

	while (c->r->lanes[group->lanes[last]].rank != k->last)
		last++;
	*ret_stack_lane = (uint32_t)last;
	host = call_was_late(c, k, last);
	for (size_t i = 0; i < group->nr; i++) {
		const struct rank_lane *lane = &c->r->lanes[group->lanes[i]];
		const struct rank *rank = &c->r->list[lane->rank];
		const struct rank_op *op = ranks_op(c->r, k, i), *before = op_before(lane, op);
		int64_t shift = c->r->clocks[rank->clock].shift_ns;
		struct window w = {
			.to_ns = (host ? op->call_ns : op->start_ns) - shift,
			.own = i == last,
			.others = i == last ? 0 : 1.0 / (double)(group->nr - 1),
		};

		/* the first operation has no other before it: as long as it was late */
		if (!before)
			w.from_ns = w.to_ns - (int64_t)k->late_ns;
		else if (host && lane->way == COLLECTIVE_GPU)
			w.from_ns = before->call_ns - shift;
		else
			w.from_ns = before->end_ns - shift;
		if (host)
			add_samples(c, rank, lane, op, &w);
		else
			add_work(c, rank, lane, &w);
	}
	return host;
}

static double excess(const struct node *n)
{
	return n->own - n->others;
}

/* By node: its child with most excess, or 0. */
static uint32_t *heaviest_children(const struct late_causes *c)
{
	uint32_t *heaviest = xcalloc(c->nr_nodes, sizeof(*heaviest));

	for (uint32_t i = 1; i < c->nr_nodes; i++) {
		uint32_t *h = &heaviest[c->nodes[i].parent];

		if (!*h || excess(&c->nodes[i]) > excess(&c->nodes[*h]))
			*h = i;
	}
	return heaviest;
}

static void take_steps(struct late_causes *c, struct late_cause *cause)
{
	uint32_t *heaviest = heaviest_children(c), at = 0;
	double found = excess(&c->nodes[0]);

	cause->steps = xcalloc(MAX_STEPS, sizeof(*cause->steps));
	cause->found_ns = found > 0 ? (uint64_t)found : 0;
	/* threads differ by a tenth of the lateness anyway */
	while (found * 10 > (double)cause->late_ns && cause->nr_steps < MAX_STEPS) {
		uint32_t next = heaviest[at];

		if (!next || excess(&c->nodes[next]) * 2 < excess(&c->nodes[at]))
			break;
		at = next;
		cause->steps[cause->nr_steps++] = (struct late_step){
			.name = c->names[c->nodes[at].name],
			.ns = (uint64_t)excess(&c->nodes[at]),
			.in_system = c->nodes[at].in_system,
		};
	}
	free(heaviest);
}

struct call_names {
	struct late_causes *c;
	struct late_cause *cause;
};

static void add_call_name(void *context, const char *name, bool in_system)
{
	struct call_names *n = context;
	uint32_t id = name_id(n->c, name);

	if (n->cause->nr_call == MAX_STEPS)
		return;
	n->cause->call[n->cause->nr_call++] = n->c->names[id];
	if (!in_system)
		n->cause->nr_own_call = n->cause->nr_call;
}

static void take_call(struct late_causes *c, const struct rank_collective *k, size_t member,
		      struct late_cause *cause)
{
	const struct rank_op *op = ranks_op(c->r, k, member);
	struct call_names n = { c, cause };

	cause->call = xcalloc(MAX_STEPS, sizeof(*cause->call));
	if (op->stack != PROFILE_NONE)
		each_name(c->r->list[k->last].p, op->stack, add_call_name, &n);
}

void late_cause_find(struct late_causes *c, const size_t *collectives, size_t nr,
		     struct late_cause *ret_cause)
{
	uint32_t member;

	*ret_cause = (struct late_cause){ 0 };
	tree_clear(c);
	for (size_t i = 0; i < nr; i++) {
		const struct rank_collective *k = &c->r->collectives[collectives[i]];
		bool host = add_collective(c, k, &member);

		ret_cause->late_ns += k->late_ns;
		ret_cause->host_late_ns += host ? k->late_ns : 0;
		if (!i)
			take_call(c, k, member, ret_cause);
	}
	take_steps(c, ret_cause);
}

void late_cause_fini(struct late_cause *cause)
{
	free(cause->steps);
	free(cause->call);
	*cause = (struct late_cause){ 0 };
}
