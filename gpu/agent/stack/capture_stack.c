/*
 * A table of nodes (node_table.h) and one of the stacks that were joined, which is never emptied
 * either. A node that finds no place keeps the stack of its replay, and is counted.
 */
#include "gpu/agent/stack/capture_stack.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/region.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/stack/node_table.h"

#define NODES (1u << 20)  /* 16 MiB of address space; memory as far as it is used */
#define JOINED (1u << 18) /* 4 MiB */
#define MAX_PROBES 64u

struct node {
	uint64_t id;	/* atomic */
	uint32_t stack; /* atomic; 0 = not known yet */
	uint32_t pad;
};

/* The stacks of a replay and of a node, and what they are together. One thread uses it. */
struct joined {
	uint64_t key;
	uint32_t stack, pad;
};

static struct node *nodes;
static struct joined *joined;

int capture_stack_init(void)
{
	nodes = agent_map(NODES * sizeof(*nodes));
	joined = agent_map(JOINED * sizeof(*joined));
	return nodes && joined ? 0 : -ENOMEM;
}

static struct node *find_node(uint64_t id, bool add)
{
	return node_table_find(nodes, NODES, sizeof(*nodes), id, add);
}

void capture_stack_note(uint64_t id, uint32_t stack)
{
	struct node *n;

	if (!id || !stack)
		return;
	n = find_node(id, true);
	if (n)
		__atomic_store_n(&n->stack, stack, __ATOMIC_RELEASE);
	else
		agent_count(GPU_COUNT_NODES_LEFT_OUT, 1);
}

static uint32_t stack_of(uint64_t id)
{
	const struct node *n = id ? find_node(id, false) : NULL;

	return n ? __atomic_load_n(&n->stack, __ATOMIC_ACQUIRE) : 0;
}

void capture_stack_copy(uint64_t id, uint64_t original)
{
	uint32_t stack = stack_of(original);

	if (stack)
		capture_stack_note(id, stack);
}

static const struct gpu_stack *stack_at(uint32_t id)
{
	const char *stacks = agent_area(&agent.region->stacks);

	return (const struct gpu_stack *)(stacks + 8ull * id);
}

/* Leaf first: the node's frames, the mark, those of the replay. Of long ones the root is kept. */
static uint32_t make(uint32_t capture, uint32_t replay)
{
	const struct gpu_stack *from = stack_at(capture), *to = stack_at(replay);
	uint64_t frames[GPU_MAX_STACK];
	uint32_t nr_to = replay ? to->nr : 0, nr;

	if (nr_to + 2 > GPU_MAX_STACK)
		return replay;
	nr = from->nr < GPU_MAX_STACK - 1 - nr_to ? from->nr : GPU_MAX_STACK - 1 - nr_to;
	memcpy(frames, from->frames, nr * sizeof(*frames));
	frames[nr++] = GPU_FRAME_CAPTURE;
	if (nr_to)
		memcpy(frames + nr, to->frames, nr_to * sizeof(*frames));
	return arena_stack(frames, nr + nr_to, replay ? to->end : from->end);
}

uint32_t capture_stack_join(uint64_t node, uint32_t replay)
{
	uint32_t capture = stack_of(node);
	uint64_t key = (uint64_t)capture << 32 | replay;

	if (!capture)
		return replay;
	for (uint64_t i = 0, at = arena_mix(key); i < MAX_PROBES; i++) {
		struct joined *j = &joined[(at + i) % JOINED];

		if (!j->key) {
			uint32_t stack = make(capture, replay);

			if (!stack)
				return replay;
			j->stack = stack;
			j->key = key;
		}
		if (j->key == key)
			return j->stack;
	}
	return replay;
}
