/*
 * Records lie unsorted in one buffer; an array of their times and offsets is sorted when they are
 * taken.
 */
#include "sampler/sink/time_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define KEEP_BYTES (1u << 20) /* an empty queue frees a buffer larger than this */

struct entry {
	uint64_t time_ns;
	size_t offset;
	uint32_t size, serial;
	int kind;
};

struct time_order {
	struct entry *entries;
	size_t nr, capacity;
	uint8_t *bytes;
	size_t nr_bytes, capacity_bytes;
	uint32_t serial;
};

struct time_order *time_order_new(void)
{
	return xcalloc(1, sizeof(struct time_order));
}

void time_order_free(struct time_order *q)
{
	if (!q)
		return;
	free(q->entries);
	free(q->bytes);
	free(q);
}

void time_order_push(struct time_order *q, uint64_t time_ns, int kind, const void *data,
		     size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7;

	q->entries = xgrow(q->entries, &q->capacity, q->nr + 1, sizeof(*q->entries));
	q->bytes = xgrow(q->bytes, &q->capacity_bytes, q->nr_bytes + padded, 1);
	memcpy(q->bytes + q->nr_bytes, data, size);
	q->entries[q->nr++] = (struct entry){
		.time_ns = time_ns,
		.offset = q->nr_bytes,
		.size = (uint32_t)size,
		.serial = q->serial++,
		.kind = kind,
	};
	q->nr_bytes += padded;
}

static int compare(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (int32_t)(a->serial - b->serial);
}

/*
 * Moves the remaining records to the front of both arrays. They are sorted by time, not by offset.
 */
static void compact(struct time_order *q, size_t taken)
{
	size_t kept = q->nr - taken, nr_bytes = 0;
	uint8_t *bytes = NULL;

	if (kept) {
		for (size_t i = taken; i < q->nr; i++)
			nr_bytes += (q->entries[i].size + 7u) & ~7u;
		bytes = xmalloc(nr_bytes);
		nr_bytes = 0;
		for (size_t i = taken; i < q->nr; i++) {
			struct entry *e = &q->entries[i];

			memcpy(bytes + nr_bytes, q->bytes + e->offset, e->size);
			e->offset = nr_bytes;
			nr_bytes += (e->size + 7u) & ~7u;
		}
		memcpy(q->bytes, bytes, nr_bytes);
		free(bytes);
		memmove(q->entries, q->entries + taken, kept * sizeof(*q->entries));
	}
	q->nr = kept;
	q->nr_bytes = nr_bytes;
	if (!kept && q->capacity_bytes > KEEP_BYTES) {
		free(q->bytes);
		q->bytes = NULL;
		q->capacity_bytes = 0;
	}
}

size_t time_order_take(struct time_order *q, uint64_t before_ns,
		       void (*fn)(void *context, int kind, const void *data, size_t size),
		       void *context)
{
	size_t taken = 0;

	if (!q->nr)
		return 0;
	qsort(q->entries, q->nr, sizeof(*q->entries), compare);
	for (; taken < q->nr && q->entries[taken].time_ns < before_ns; taken++) {
		const struct entry *e = &q->entries[taken];

		fn(context, e->kind, q->bytes + e->offset, e->size);
	}
	compact(q, taken);
	return q->nr;
}
