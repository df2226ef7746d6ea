/* A table of nodes (node_table.h). One that finds no place is counted, as for stacks. */
#include "gpu/agent/flops/flops_graph.h"

#include <errno.h>
#include <stddef.h>

#include "gpu/agent/base/state.h"
#include "gpu/agent/base/thread.h"
#include "gpu/agent/flops/flops_table.h"
#include "gpu/agent/flops/shape.h"
#include "gpu/agent/stack/node_table.h"

#define NODES (1u << 18) /* 8 MiB of address space; memory as far as it is used */

enum { STANDS = 1, IS_KNOWN = 2, IS_SATURATED = 4 };

/* All atomic. */
struct node {
	uint64_t id;
	uint64_t flops;
	uint32_t entry;
	uint32_t generation; /* of the table of entries */
	uint32_t flags;	     /* STANDS: for the operations of its call */
	uint32_t pad;
};
_Static_assert(sizeof(struct node) == 32, "2^18 nodes are 8 MiB");

static struct node *nodes;

int flops_graph_init(void)
{
	nodes = agent_map(NODES * sizeof(*nodes));
	return nodes ? 0 : -ENOMEM;
}

static struct node *find(uint64_t id, bool add)
{
	return node_table_find(nodes, NODES, sizeof(*nodes), id, add);
}

static void set(uint64_t id, uint32_t entry, uint32_t generation, uint64_t flops, uint32_t flags)
{
	struct node *n = find(id, true);

	if (!n) {
		agent_count(GPU_COUNT_NODES_LEFT_OUT, 1);
		return;
	}
	__atomic_store_n(&n->entry, entry, __ATOMIC_RELAXED);
	__atomic_store_n(&n->generation, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&n->flops, flops, __ATOMIC_RELAXED);
	__atomic_store_n(&n->flags, flags, __ATOMIC_RELEASE);
}

void flops_note_node(struct thread *t, uint64_t id)
{
	if (!t->flops.entry)
		return;
	if (!t->flops.nr_nodes++)
		t->flops.first_node = id;
	set(id, t->flops.entry, flops_table_generation(), 0, 0);
}

void flops_copy_node(uint64_t id, uint64_t original)
{
	const struct node *from = find(original, false);
	uint32_t flags;

	if (!from)
		return;
	flags = __atomic_load_n(&from->flags, __ATOMIC_ACQUIRE);
	set(id, __atomic_load_n(&from->entry, __ATOMIC_RELAXED),
	    __atomic_load_n(&from->generation, __ATOMIC_RELAXED),
	    __atomic_load_n(&from->flops, __ATOMIC_RELAXED), flags);
}

void flops_graph_node_is(uint64_t id, const struct shape *shape)
{
	const struct node *n = find(id, false);

	if (n)
		set(id, __atomic_load_n(&n->entry, __ATOMIC_RELAXED),
		    __atomic_load_n(&n->generation, __ATOMIC_RELAXED), shape->flops,
		    STANDS | (shape->known ? IS_KNOWN : 0) | (shape->saturated ? IS_SATURATED : 0));
}

/* NULL for nodes of other code, and where the entry was that of an earlier recorder. */
static const struct node *current(uint64_t id)
{
	const struct node *n = find(id, false);

	return n && __atomic_load_n(&n->generation, __ATOMIC_RELAXED) == flops_table_generation()
		       ? n
		       : NULL;
}

uint32_t flops_of_node(uint64_t id)
{
	const struct node *n = current(id);

	return n ? __atomic_load_n(&n->entry, __ATOMIC_RELAXED) : 0;
}

void flops_node_ran(uint64_t id)
{
	const struct node *n = current(id);
	uint32_t flags = n ? __atomic_load_n(&n->flags, __ATOMIC_ACQUIRE) : 0;
	struct shape shape = { .known = flags & IS_KNOWN, .saturated = flags & IS_SATURATED };

	if (!(flags & STANDS))
		return;
	shape.flops = __atomic_load_n(&n->flops, __ATOMIC_RELAXED);
	flops_table_add(__atomic_load_n(&n->entry, __ATOMIC_RELAXED), &shape);
}
