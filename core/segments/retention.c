/* The list is sorted by age; after a step of the time of day, names would sort differently. */
#include "core/segments/retention.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void retention_fini(struct retention *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->segments[i].name);
	free(r->segments);
	r->segments = NULL;
	r->nr = r->capacity = 0;
}

static void add(struct retention *r, const char *name, uint64_t size_bytes, int64_t ended_ns)
{
	size_t at = r->nr;

	r->segments = xgrow(r->segments, &r->capacity, r->nr + 1, sizeof(*r->segments));
	while (at && r->segments[at - 1].ended_ns > ended_ns) {
		r->segments[at] = r->segments[at - 1];
		at--;
	}
	r->segments[at] = (struct retained){ xstrdup(name), ended_ns, size_bytes };
	r->nr++;
}

void retention_add(struct retention *r, const char *name, uint64_t size_bytes, int64_t now_ns)
{
	add(r, name, size_bytes, now_ns);
}

void retention_add_older(struct retention *r, const char *name, uint64_t size_bytes, int64_t now_ns,
			 uint64_t began_realtime_ns, uint64_t realtime_ns)
{
	uint64_t age = realtime_ns > began_realtime_ns ? realtime_ns - began_realtime_ns : 0;

	add(r, name, size_bytes, now_ns - (int64_t)(age < INT64_MAX / 2 ? age : INT64_MAX / 2));
}

void retention_set_size(struct retention *r, const char *name, uint64_t size_bytes)
{
	for (size_t i = r->nr; i-- > 0;)
		if (!strcmp(r->segments[i].name, name)) {
			r->segments[i].size_bytes = size_bytes;
			return;
		}
}

size_t retention_excess(const struct retention *r, int64_t now_ns, uint64_t other_bytes)
{
	uint64_t bytes = other_bytes;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++)
		bytes += r->segments[i].size_bytes;
	while (nr < r->nr) {
		const struct retained *s = &r->segments[nr];
		int64_t age = now_ns - s->ended_ns;

		if ((!r->keep_ns || age <= 0 || (uint64_t)age <= r->keep_ns) &&
		    (!r->max_bytes || bytes <= r->max_bytes))
			break;
		bytes -= s->size_bytes;
		nr++;
	}
	return nr;
}

void retention_drop(struct retention *r, size_t at)
{
	struct retained *s = &r->segments[at];

	free(s->name);
	memmove(s, s + 1, (r->nr - at - 1) * sizeof(*s));
	r->nr--;
}
