/*
 * Places slices in tracks. They are sorted by track and start, so each goes into the first lane in
 * which no open slice would cross it, and one pass places them all.
 */
#include "output/export/chrome_tracks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "output/text/text.h"

/* The time may be before the start: the agent can be ready a moment before the recording. */
void chrome_add_time(struct chrome_tracks *t, const char *key, uint64_t time_ns)
{
	uint64_t start = t->p->meta.start_ns;
	bool before = time_ns < start;
	uint64_t ns = before ? start - time_ns : time_ns - start;

	buffer_printf(t->b, ",\"%s\":%s%" PRIu64 ".%03u", key, before ? "-" : "", ns / 1000,
		      (unsigned int)(ns % 1000));
}

void chrome_begin(struct chrome_tracks *t, const char *phase, uint64_t pid, uint32_t tid)
{
	buffer_printf(t->b, "%s{\"ph\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%u", t->separator, phase,
		      pid, tid);
	t->separator = ",\n";
}

void chrome_add_text(struct chrome_tracks *t, const char *key, const char *text)
{
	buffer_printf(t->b, ",\"%s\":", key);
	text_add_json(t->b, text);
}

void chrome_begin_slice(struct chrome_tracks *t, uint32_t tid, const struct slice *s,
			const char *category, uint32_t name)
{
	uint64_t ns = s->end_ns - s->start_ns;

	chrome_begin(t, "X", t->pid, tid);
	chrome_add_time(t, "ts", s->start_ns);
	buffer_printf(t->b, ",\"dur\":%" PRIu64 ".%03u,\"cat\":\"%s\"", ns / 1000,
		      (unsigned int)(ns % 1000), category);
	chrome_add_text(t, "name", profile_str(t->p, name));
}

void chrome_add_name(struct chrome_tracks *t, const char *what, uint64_t pid, uint32_t tid,
		     const char *name)
{
	chrome_begin(t, "M", pid, tid);
	buffer_printf(t->b, ",\"name\":\"%s\",\"args\":{", what);
	text_add_json_field(t->b, "\"name\":", name);
	buffer_add_string(t->b, "}}");
}

static int compare_slices(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	for (int i = 0; i < NR_SLICE_KEYS; i++)
		if (x->keys[i] != y->keys[i])
			return ORDER(x->keys[i], y->keys[i]);
	return ORDER(x->start_ns, y->start_ns) ?: ORDER(y->end_ns, x->end_ns)
	       ?: ORDER(x->row, y->row);
}

bool chrome_same_track(const struct slice *a, const struct slice *b)
{
	return !memcmp(a->keys, b->keys, sizeof(a->keys));
}

static bool fits(struct lane *lane, const struct slice *s, bool nests)
{
	while (lane->nr && lane->ends[lane->nr - 1] <= s->start_ns)
		lane->nr--;
	return !lane->nr || (nests && s->end_ns <= lane->ends[lane->nr - 1]);
}

static struct lane *new_lane(struct chrome_tracks *t, const struct slice *s,
			     const struct slice_kind *kind)
{
	struct lane *lane = &t->lanes[t->nr_lanes++];
	struct buffer name = { 0 };

	lane->nr = 0;
	lane->tid = CHROME_FIRST_ID + t->nr_tracks++;
	t->pid = kind->track(kind->context, s, &name);
	if (t->nr_lanes > 1)
		buffer_printf(&name, " (%zu)", t->nr_lanes);
	chrome_add_name(t, "thread_name", t->pid, lane->tid, buffer_cstring(&name));
	buffer_fini(&name);
	return lane;
}

uint32_t chrome_track_for(struct chrome_tracks *t, const struct slice *s,
			  const struct slice_kind *kind, bool is_first)
{
	struct lane *lane = NULL;

	if (is_first)
		t->nr_lanes = 0;
	for (size_t i = 0; i < t->nr_lanes && !lane; i++)
		if (fits(&t->lanes[i], s, kind->nests))
			lane = &t->lanes[i];
	if (!lane && t->nr_lanes < CHROME_MAX_LANES)
		lane = new_lane(t, s, kind);
	if (!lane)
		return t->lanes[CHROME_MAX_LANES - 1].tid;
	lane->ends = xgrow(lane->ends, &lane->capacity, lane->nr + 1, sizeof(*lane->ends));
	lane->ends[lane->nr++] = s->end_ns;
	return lane->tid;
}

void chrome_sort_slices(struct slice *list, size_t nr)
{
	if (nr)
		qsort(list, nr, sizeof(*list), compare_slices);
}

void chrome_add_slices(struct chrome_tracks *t, struct slice *list, size_t nr,
		       const struct slice_kind *kind)
{
	chrome_sort_slices(list, nr);
	for (size_t i = 0; i < nr; i++) {
		bool is_first = !i || !chrome_same_track(&list[i], &list[i - 1]);

		kind->add(kind->context, &list[i], chrome_track_for(t, &list[i], kind, is_first));
	}
}

void chrome_tracks_fini(struct chrome_tracks *t)
{
	for (int i = 0; i < CHROME_MAX_LANES; i++)
		free(t->lanes[i].ends);
}
