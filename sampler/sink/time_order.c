/*
 * A binary heap of records, the oldest first: a record costs the logarithm of how many wait,
 * however long the queue becomes when whoever takes them falls behind.
 */
#include "sampler/sink/time_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define MIN_ROOM 1024

struct entry {
	uint64_t time_ns, serial;
	void *data;
	uint32_t size;
	int kind;
};

struct time_order {
	struct entry *heap; /* the children of i are 2i + 1 and 2i + 2, and no older */
	size_t nr, capacity;
	size_t nr_bytes;
	uint64_t serial;
};

struct time_order *time_order_new(void)
{
	return xcalloc(1, sizeof(struct time_order));
}

void time_order_free(struct time_order *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->nr; i++)
		free(q->heap[i].data);
	free(q->heap);
	free(q);
}

static bool is_older(const struct entry *a, const struct entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->serial < b->serial;
}

static void push(struct time_order *q, struct entry e)
{
	size_t at = q->nr++, parent;

	for (; at && is_older(&e, &q->heap[parent = (at - 1) / 2]); at = parent)
		q->heap[at] = q->heap[parent];
	q->heap[at] = e;
}

static struct entry pop(struct time_order *q)
{
	struct entry oldest = q->heap[0], last = q->heap[--q->nr];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < q->nr) {
		if (child + 1 < q->nr && is_older(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!is_older(&q->heap[child], &last))
			break;
		q->heap[at] = q->heap[child];
		at = child;
	}
	q->heap[at] = last;
	return oldest;
}

void *time_order_add(struct time_order *q, uint64_t time_ns, int kind, size_t size)
{
	struct entry e = {
		.time_ns = time_ns,
		.serial = q->serial++,
		.data = xmalloc(size + 1),
		.size = (uint32_t)size,
		.kind = kind,
	};

	q->heap = xgrow(q->heap, &q->capacity, q->nr + 1, sizeof(*q->heap));
	q->nr_bytes += size;
	push(q, e);
	return e.data;
}

void time_order_push(struct time_order *q, uint64_t time_ns, int kind, const void *data,
		     size_t size)
{
	memcpy(time_order_add(q, time_ns, kind, size), data, size);
}

size_t time_order_room(const struct time_order *q)
{
	return q->capacity;
}

/* A burst may have been of some hundred thousand records. */
static void give_room_back(struct time_order *q)
{
	if (q->capacity <= MIN_ROOM || q->nr > q->capacity / 8)
		return;
	q->capacity /= 2;
	q->heap = xreallocarray(q->heap, q->capacity, sizeof(*q->heap));
}

size_t time_order_bytes(const struct time_order *q)
{
	return q->nr_bytes;
}

size_t time_order_take(struct time_order *q, uint64_t before_ns,
		       void (*fn)(void *context, int kind, const void *data, size_t size),
		       void *context)
{
	while (q->nr && q->heap[0].time_ns < before_ns) {
		struct entry e = pop(q);

		fn(context, e.kind, e.data, e.size);
		q->nr_bytes -= e.size;
		free(e.data);
	}
	give_room_back(q);
	return q->nr;
}
