/*
 * One ring for all threads; each event has the number of its thread's event before, which is a
 * chain.
 */
#include "gpu/recent.h"

#include <stdlib.h>

#include "core/base/alloc.h"

static const struct recent_event *event_of(const struct recent *r, uint64_t number)
{
	if (!number || r->nr - number >= RECENT_MAX)
		return NULL; /* none, or overwritten */
	return &r->ring[(number - 1) % RECENT_MAX];
}

static uint64_t *last_of(struct recent *r, uint32_t tid)
{
	bool is_new;
	uint32_t *index = number_map_at(&r->last, tid, &is_new);

	if (is_new) {
		*index = (uint32_t)r->nr_numbers++;
		r->numbers =
			xgrow(r->numbers, &r->numbers_capacity, r->nr_numbers, sizeof(*r->numbers));
		r->numbers[*index] = 0;
	}
	return &r->numbers[*index];
}

void recent_add(struct recent *r, uint32_t tid, uint64_t start_ns, uint64_t end_ns, uint32_t stack)
{
	uint64_t *last = last_of(r, tid);

	if (!r->ring)
		r->ring = xcalloc(RECENT_MAX, sizeof(*r->ring));
	r->ring[r->nr % RECENT_MAX] = (struct recent_event){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.before = *last,
		.tid = tid,
		.stack = stack,
	};
	*last = ++r->nr;
}

const struct recent_event *recent_last(struct recent *r, uint32_t tid)
{
	return r->ring ? event_of(r, *last_of(r, tid)) : NULL;
}

const struct recent_event *recent_before(const struct recent *r, const struct recent_event *event)
{
	return event_of(r, event->before);
}

void recent_fini(struct recent *r)
{
	free(r->ring);
	free(r->numbers);
	number_map_fini(&r->last);
}
