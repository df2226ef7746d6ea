/* Records stand in an array; those that stay move to its front. */
#include "sampler/sink/held_records.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/untrusted/user_shares.h"

struct held_records {
	struct held_record *records;
	size_t nr, capacity;
	struct user_shares shares; /* of bytes */
};

struct held_records *held_records_new(size_t max_bytes)
{
	struct held_records *h = xcalloc(1, sizeof(*h));

	user_shares_init(&h->shares, max_bytes);
	return h;
}

void held_records_free(struct held_records *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->nr; i++)
		free(h->records[i].data);
	user_shares_fini(&h->shares);
	free(h->records);
	free(h);
}

bool held_records_is_empty(const struct held_records *h)
{
	return !h->nr;
}

bool held_records_has_room(const struct held_records *h, uint32_t user, size_t size)
{
	return user_shares_check(&h->shares, user, size) == SHARE_TAKEN;
}

void held_records_keep(struct held_records *h, const struct held_record *record)
{
	struct held_record copy = *record;

	user_shares_take(&h->shares, record->user, record->size);
	copy.data = xmalloc(record->size);
	memcpy(copy.data, record->data, record->size);
	h->records = xgrow(h->records, &h->capacity, h->nr + 1, sizeof(*h->records));
	h->records[h->nr++] = copy;
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
		user_shares_give(&h->shares, r.user, r.size);
		ops->take(context, &r);
		free(r.data);
	}
	memmove(h->records + nr_kept, h->records + nr, (h->nr - nr) * sizeof(*h->records));
	h->nr -= nr - nr_kept;
}
