/* Records stand in an array; those that stay move to its front. */
#include "sampler/sink/held_records.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

struct held_records {
	struct held_record *records;
	size_t nr, capacity;
	size_t nr_bytes, max_bytes;
};

struct held_records *held_records_new(size_t max_bytes)
{
	struct held_records *h = xcalloc(1, sizeof(*h));

	h->max_bytes = max_bytes;
	return h;
}

void held_records_free(struct held_records *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->nr; i++)
		free(h->records[i].data);
	free(h->records);
	free(h);
}

bool held_records_is_empty(const struct held_records *h)
{
	return !h->nr;
}

bool held_records_has_room(const struct held_records *h, size_t size)
{
	return size <= h->max_bytes - h->nr_bytes;
}

void held_records_keep(struct held_records *h, const struct held_record *record)
{
	struct held_record copy = *record;

	copy.data = xmalloc(record->size);
	memcpy(copy.data, record->data, record->size);
	h->records = xgrow(h->records, &h->capacity, h->nr + 1, sizeof(*h->records));
	h->records[h->nr++] = copy;
	h->nr_bytes += record->size;
}

bool held_records_is_old(uint64_t time_ns)
{
	return monotonic_ns() > time_ns + HELD_RECORDS_NS;
}

void held_records_take(struct held_records *h, const struct held_records_ops *ops, void *context)
{
	size_t nr = h->nr, nr_kept = 0;

	if (!nr)
		return;
	for (size_t i = 0; i < nr; i++) {
		const struct held_record r = h->records[i];

		if (!ops->is_ready(context, &r)) {
			h->records[nr_kept++] = r;
			continue;
		}
		h->nr_bytes -= r.size;
		ops->take(context, &r);
		free(r.data);
	}
	memmove(h->records + nr_kept, h->records + nr, (h->nr - nr) * sizeof(*h->records));
	h->nr -= nr - nr_kept;
}
