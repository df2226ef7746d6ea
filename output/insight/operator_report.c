/*
 * Makes the table of operators from ranges that are named after them. An operator is all ranges of
 * one name, wherever they are. Sums go up the paths of ranges; if an operator calls itself, its
 * inner calls are not added twice.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/insight/gpu_report.h"
#include "output/insight/operators.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/insight/range_report.h"

enum { VERSION = 1, MAX_DEPTH = 256 /* of ranges: more than GPU_MAX_RANGE_DEPTH */ };

/* A range, in the order of (pid, id), in which a parent comes before its children. */
struct node {
	const struct fact_range *range;
	size_t parent;	    /* index, SIZE_MAX = none */
	size_t operator;    /* index */
	uint64_t inside_ns; /* the total of its children */
	uint64_t gpu_ns;    /* including what its children launched */
};

struct operator_sum {
	char *name;
	uint64_t calls, self_ns, total_ns, self_gpu_ns, total_gpu_ns;
};

struct operator_tree {
	struct node *nodes;
	size_t nr_nodes;
	struct operator_sum *sums;
	size_t nr_sums;
};

static int by_id(const void *a, const void *b)
{
	const struct fact_range *x = ((const struct node *)a)->range;
	const struct fact_range *y = ((const struct node *)b)->range;

	return ORDER(x->pid, y->pid) ?: ORDER(x->id, y->id);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct operator_sum *)a)->name,
		      ((const struct operator_sum *)b)->name);
}

/* Makes the nodes, each with its parent, and the distinct operators by name. */
static void take_nodes(struct operator_tree *o, const struct profile *p)
{
	const struct fact_range *ranges;
	size_t kept = 0;

	ranges = facts_rows(p, FACT_RANGE, &o->nr_nodes);
	o->nodes = xcalloc(o->nr_nodes + 1, sizeof(*o->nodes));
	o->sums = xcalloc(o->nr_nodes + 1, sizeof(*o->sums));
	for (size_t i = 0; i < o->nr_nodes; i++) {
		const char *name = profile_str(p, (uint32_t)ranges[i].name);

		o->nodes[i].range = &ranges[i];
		o->sums[i].name = xasprintf("%.*s", (int)operators_range_length(name), name);
	}
	qsort(o->nodes, o->nr_nodes, sizeof(*o->nodes), by_id);
	qsort(o->sums, o->nr_nodes, sizeof(*o->sums), by_name);
	for (size_t i = 0; i < o->nr_nodes; i++) {
		if (kept && !strcmp(o->sums[kept - 1].name, o->sums[i].name))
			free(o->sums[i].name);
		else
			o->sums[kept++] = o->sums[i];
	}
	o->nr_sums = kept;
	for (size_t i = 0; i < o->nr_nodes; i++) {
		const struct fact_range *r = o->nodes[i].range;
		const char *name = profile_str(p, (uint32_t)r->name);
		struct fact_range parent_key = { .pid = r->pid, .id = r->parent };
		struct node key = { .range = &parent_key }, *parent = NULL;
		struct operator_sum sum = {
			.name = xasprintf("%.*s", (int)operators_range_length(name), name)
		};
		struct operator_sum *found =
			bsearch(&sum, o->sums, o->nr_sums, sizeof(sum), by_name);

		/*
		 * A parent must come before its child: so every path ends, whatever the file says.
		 */
		if (r->parent && r->parent < r->id)
			parent = bsearch(&key, o->nodes, i, sizeof(key), by_id);
		o->nodes[i].parent = parent ? (size_t)(parent - o->nodes) : SIZE_MAX;
		o->nodes[i].operator=(size_t)(found - o->sums);
		free(sum.name);
	}
}

static bool is_inside_itself(const struct operator_tree *o, size_t at)
{
	size_t i = o->nodes[at].parent;

	for (int depth = 0; depth < MAX_DEPTH && i != SIZE_MAX; depth++, i = o->nodes[i].parent)
		if (o->nodes[i].operator== o->nodes[at].operator)
			return true;
	return false;
}

static void add_up(struct operator_tree *o)
{
	for (size_t i = o->nr_nodes; i--;) {
		struct node *n = &o->nodes[i];

		n->gpu_ns += n->range->gpu_ns;
		if (n->parent != SIZE_MAX) {
			o->nodes[n->parent].gpu_ns += n->gpu_ns;
			o->nodes[n->parent].inside_ns += n->range->total_ns;
		}
	}
	for (size_t i = 0; i < o->nr_nodes; i++) {
		const struct node *n = &o->nodes[i];
		const struct fact_range *r = n->range;
		struct operator_sum *sum = &o->sums[n->operator];

		sum->calls += r->calls;
		/* Ranges inside may have ended while this one had not. */
		sum->self_ns += r->total_ns > n->inside_ns ? r->total_ns - n->inside_ns : 0;
		sum->self_gpu_ns += r->gpu_ns;
		if (is_inside_itself(o, i))
			continue;
		sum->total_ns += r->total_ns;
		sum->total_gpu_ns += n->gpu_ns;
	}
}

static int by_gpu_and_host(const void *a, const void *b)
{
	const struct operator_sum *x = a, *y = b;

	return ORDER(y->self_gpu_ns, x->self_gpu_ns) ?: ORDER(y->self_ns, x->self_ns)
	       ?: strcmp(x->name, y->name);
}

static void fill(struct grid *g, struct operator_tree *o)
{
	static const struct grid_column columns[] = {
		{ "self_cpu_share", "Self CPU %", false },
		{ "self_cpu_ns", "Self CPU", false },
		{ "cpu_ns", "CPU total", false },
		{ "cpu_average_ns", "CPU avg", false },
		{ "self_gpu_share", "Self GPU %", false },
		{ "self_gpu_ns", "Self GPU", false },
		{ "gpu_ns", "GPU total", false },
		{ "gpu_average_ns", "GPU avg", false },
		{ "calls", "Calls", false },
		{ "name", "Name", true },
	};
	uint64_t self_ns = 0, self_gpu_ns = 0;

	qsort(o->sums, o->nr_sums, sizeof(*o->sums), by_gpu_and_host);
	for (size_t i = 0; i < o->nr_sums; i++) {
		self_ns += o->sums[i].self_ns;
		self_gpu_ns += o->sums[i].self_gpu_ns;
	}
	grid_init(g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < o->nr_sums; i++) {
		const struct operator_sum *s = &o->sums[i];

		grid_share(g, s->self_ns, self_ns);
		grid_time(g, s->self_ns);
		grid_time(g, s->total_ns);
		grid_time(g, number_scale(s->total_ns, 1, s->calls));
		grid_share(g, s->self_gpu_ns, self_gpu_ns);
		grid_time(g, s->self_gpu_ns);
		grid_time(g, s->total_gpu_ns);
		grid_time(g, number_scale(s->total_gpu_ns, 1, s->calls));
		grid_count(g, s->calls);
		grid_text(g, s->name);
	}
}

bool range_report_write_operators(struct buffer *b, const struct profile *p,
				  const struct range_report_opts *opts)
{
	struct operator_tree o = { 0 };
	struct grid g;
	bool any;

	take_nodes(&o, p);
	add_up(&o);
	any = o.nr_nodes > 0;
	fill(&g, &o);
	if (any && opts->json) {
		buffer_printf(b, "{\n\"version\": %d,\n\"report\": \"op\",\n", VERSION);
		gpu_report_add_trust_json(b, p);
		buffer_add_string(b, ",\n\"rows\": ");
		grid_write_json(b, &g, opts->max_rows);
		buffer_add_string(b, "\n}\n");
	} else if (any) {
		gpu_report_add_trust(b, p);
		if (b->size)
			buffer_add_char(b, '\n');
		grid_write_text(b, &g, opts->max_rows);
		buffer_add_string(
			b, "CPU is the time between start and end of a range on the host.\n");
	}
	grid_fini(&g);
	for (size_t i = 0; i < o.nr_sums; i++)
		free(o.sums[i].name);
	free(o.nodes);
	free(o.sums);
	return any;
}
