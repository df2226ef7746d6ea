/*
 * Keeps slices in a ring by their second. Entries of the present slice, and of the sum of all that
 * is old, are found by a hash table; a sample that is late is appended to its slice as it is.
 */
#include "output/live/slices.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/column.h"

#define MAX_WINDOW_S 3600u

/* Equal samples, added up. */
struct entry {
	uint64_t weight;
	uint32_t stack, thread, labels;
	uint32_t nr;
	uint16_t cpu;
	uint8_t column, gil;
};

/* Entries, and where each lies: its index + 1, by hash. The table is only made where it is used. */
struct entries {
	struct entry *list;
	size_t nr, capacity;
	uint32_t *table;
	size_t table_size; /* a power of two, or 0 */
};

struct slice {
	uint64_t second; /* since the start */
	struct entries entries;
	struct profile_stats before; /* the counters when it began */
};

struct slices {
	uint64_t start_ns; /* second 0 begins here */
	uint64_t first_ns; /* the oldest that is in the window */
	uint64_t now_ns;
	uint32_t window_s;
	struct slice *ring; /* by second modulo its size */
	uint32_t ring_size;
	uint64_t oldest, newest; /* seconds of the ring that are in use */
	struct entries past;	 /* older ones, where nothing is forgotten */
	struct profile_stats past_before, stats;
	size_t nr_entries; /* of all */
	uint64_t nr_over_limit;
	uint64_t cpu_ns[SLICES_MINUTE]; /* by second modulo the size */
};

static bool is_equal(const struct entry *a, const struct entry *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->labels == b->labels &&
	       a->cpu == b->cpu && a->column == b->column && a->gil == b->gil;
}

static uint64_t hash_of(const struct entry *e)
{
	uint64_t h = e->stack * 0x9e3779b97f4a7c15ull;

	h = (h ^ (h >> 29) ^ e->thread) * 0xbf58476d1ce4e5b9ull;
	h ^= (uint64_t)e->labels << 32 ^ (uint64_t)e->cpu << 16 ^ (uint64_t)e->column << 8 ^ e->gil;
	h = (h ^ (h >> 32)) * 0x94d049bb133111ebull;
	return h ^ (h >> 31);
}

/* The place of an equal entry in the table, or a free one. */
static uint32_t *place_of(const struct entries *all, const struct entry *e)
{
	size_t mask = all->table_size - 1;

	for (size_t i = hash_of(e) & mask;; i = (i + 1) & mask)
		if (!all->table[i] || is_equal(&all->list[all->table[i] - 1], e))
			return &all->table[i];
}

static void grow_table(struct entries *all)
{
	all->table_size = all->table_size ? all->table_size * 2 : 256;
	free(all->table);
	all->table = xcalloc(all->table_size, sizeof(*all->table));
	for (size_t i = 0; i < all->nr; i++)
		*place_of(all, &all->list[i]) = (uint32_t)i + 1;
}

static void append(struct entries *all, const struct entry *e)
{
	all->list = xgrow(all->list, &all->capacity, all->nr + 1, sizeof(*all->list));
	all->list[all->nr++] = *e;
}

/* Adds to an equal entry. Returns false, and has done nothing, if there is none and no `room`. */
static bool add_up(struct entries *all, const struct entry *e, bool room)
{
	uint32_t *place;

	if (all->nr * 2 >= all->table_size)
		grow_table(all);
	place = place_of(all, e);
	if (*place) {
		struct entry *known = &all->list[*place - 1];

		known->weight += e->weight;
		known->nr = known->nr > UINT32_MAX - e->nr ? UINT32_MAX : known->nr + e->nr;
		return true;
	}
	if (!room)
		return false;
	append(all, e);
	*place = (uint32_t)all->nr;
	return true;
}

static void drop_table(struct entries *all)
{
	free(all->table);
	all->table = NULL;
	all->table_size = 0;
}

static void clear(struct slices *s, struct entries *all)
{
	s->nr_entries -= all->nr;
	free(all->list);
	drop_table(all);
	*all = (struct entries){ 0 };
}

static struct slice *slice_at(const struct slices *s, uint64_t second)
{
	return &s->ring[second % s->ring_size];
}

struct slices *slices_new(uint32_t window_s, uint64_t now_ns)
{
	struct slices *s = xcalloc(1, sizeof(*s));

	s->window_s = window_s > MAX_WINDOW_S ? MAX_WINDOW_S : window_s;
	s->ring_size = s->window_s ? s->window_s : SLICES_MINUTE;
	s->ring = xcalloc(s->ring_size, sizeof(*s->ring));
	s->start_ns = s->first_ns = s->now_ns = now_ns;
	return s;
}

void slices_free(struct slices *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->ring_size; i++)
		clear(s, &s->ring[i].entries);
	clear(s, &s->past);
	free(s->ring);
	free(s);
}

/* Takes the oldest slice out of the ring. */
static void retire(struct slices *s)
{
	struct slice *old = slice_at(s, s->oldest++);
	size_t nr = old->entries.nr;

	if (!s->window_s && nr) {
		size_t before = s->past.nr;

		for (size_t i = 0; i < nr; i++)
			add_up(&s->past, &old->entries.list[i], true);
		s->nr_entries += s->past.nr - before;
	}
	clear(s, &old->entries);
	if (s->window_s)
		s->first_ns = s->start_ns + s->oldest * NS_PER_S;
}

/* Begins the slice that follows the newest one. */
static void begin_slice(struct slices *s, const struct profile_stats *stats)
{
	drop_table(&slice_at(s, s->newest)->entries);
	if (s->newest - s->oldest + 1 == s->ring_size)
		retire(s);
	s->newest++;
	slice_at(s, s->newest)->second = s->newest;
	slice_at(s, s->newest)->before = *stats;
	s->cpu_ns[s->newest % SLICES_MINUTE] = 0;
}

void slices_advance(struct slices *s, uint64_t now_ns, const struct profile_stats *stats)
{
	uint64_t second;

	if (now_ns < s->now_ns)
		now_ns = s->now_ns;
	second = (now_ns - s->start_ns) / NS_PER_S;
	/* After a long stop, as of a laptop's lid, nothing in between is worth a slice. */
	if (second > s->newest + s->ring_size + SLICES_MINUTE) {
		uint64_t skipped = second - s->newest - s->ring_size - SLICES_MINUTE;

		while (s->oldest < s->newest)
			retire(s);
		drop_table(&slice_at(s, s->newest)->entries);
		retire(s);
		s->newest += skipped;
		s->oldest = s->newest;
		*slice_at(s, s->newest) = (struct slice){ .second = s->newest, .before = *stats };
	}
	while (s->newest < second)
		begin_slice(s, stats);
	s->now_ns = now_ns;
	s->stats = *stats;
}

static struct slice *slice_of_time(struct slices *s, uint64_t time_ns)
{
	uint64_t second = s->newest;

	if (time_ns && time_ns < s->start_ns)
		second = s->oldest;
	else if (time_ns)
		second = (time_ns - s->start_ns) / NS_PER_S;
	if (second < s->oldest)
		second = s->oldest;
	return slice_at(s, second < s->newest ? second : s->newest);
}

void slices_add(struct slices *s, const struct profile_sample *sample, uint32_t left_out)
{
	struct slice *slice = slice_of_time(s, sample->time_ns);
	bool room = s->nr_entries < SLICES_MAX_ENTRIES, is_newest = slice->second == s->newest;
	struct entry e = {
		.weight = sample->weight,
		.stack = sample->stack,
		.thread = sample->thread,
		.labels = sample->labels,
		.nr = 1,
		.cpu = sample->cpu,
		.column = sample->column,
		.gil = sample->gil,
	};
	size_t before = slice->entries.nr;

	if (sample->column == COLUMN_CPU)
		s->cpu_ns[slice->second % SLICES_MINUTE] += sample->weight;
	if (!is_newest && room) {
		append(&slice->entries, &e);
	} else if (!is_newest || !add_up(&slice->entries, &e, room)) {
		/* One entry a slice stands for all that have no room. */
		e = (struct entry){ .weight = e.weight,
				    .stack = left_out,
				    .thread = PROFILE_NONE,
				    .nr = 1,
				    .column = e.column };
		slice = slice_at(s, s->newest);
		before = slice->entries.nr;
		add_up(&slice->entries, &e, true);
		s->nr_over_limit++;
	}
	s->nr_entries += slice->entries.nr - before;
}

void slices_reset(struct slices *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->ring_size; i++)
		clear(s, &s->ring[i].entries);
	clear(s, &s->past);
	s->oldest = s->newest;
	slice_at(s, s->newest)->second = s->newest;
	slice_at(s, s->newest)->before = s->past_before = s->stats;
	s->first_ns = now_ns > s->now_ns ? now_ns : s->now_ns;
	s->nr_over_limit = 0;
}

static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* How many samples an entry becomes. In exact columns one sample has the whole sum. */
static uint64_t samples_of(const struct entry *e, uint32_t shift)
{
	uint64_t nr = column_table[e->column].exact ? 1 : e->nr >> shift;

	return nr ? nr : 1;
}

static uint64_t nr_samples(const struct slices *s, uint32_t shift)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < s->past.nr; i++)
		nr += samples_of(&s->past.list[i], shift);
	for (uint64_t second = s->oldest; second <= s->newest; second++) {
		const struct entries *all = &slice_at(s, second)->entries;

		for (size_t i = 0; i < all->nr; i++)
			nr += samples_of(&all->list[i], shift);
	}
	return nr;
}

static uint32_t shift_of(const struct slices *s)
{
	uint32_t shift = 0;

	/* Ends, because each entry becomes one sample at last, and there are not more entries. */
	while (shift < 31 && nr_samples(s, shift) > SLICES_MAX_SAMPLES)
		shift++;
	return shift;
}

void slices_span(const struct slices *s, struct slices_span *ret)
{
	const struct profile_stats *now = &s->stats, *before;

	before = s->window_s ? &slice_at(s, s->oldest)->before : &s->past_before;
	*ret = (struct slices_span){
		.start_ns = s->first_ns,
		.end_ns = s->now_ns,
		.nr_over_limit = s->nr_over_limit,
		.shift = shift_of(s),
	};
	ret->stats = (struct profile_stats){
		.nr_samples = growth(now->nr_samples, before->nr_samples),
		.nr_lost = growth(now->nr_lost, before->nr_lost),
		.nr_snapshots = growth(now->nr_snapshots, before->nr_snapshots),
		.nr_throttled = growth(now->nr_throttled, before->nr_throttled),
		.nr_rows = now->nr_rows,
		.nr_limits = growth(now->nr_limits, before->nr_limits),
	};
	for (int i = 0; i < NR_MARKERS; i++)
		ret->stats.nr_incomplete[i] =
			growth(now->nr_incomplete[i], before->nr_incomplete[i]);
}

/* If the weight does not divide evenly, the first samples of an entry weigh one more. */
static struct profile_sample *add_samples(struct profile_sample *to, const struct entries *all,
					  uint64_t time_ns, uint32_t shift)
{
	for (size_t i = 0; i < all->nr; i++) {
		const struct entry *e = &all->list[i];
		uint64_t nr = samples_of(e, shift), rest = e->weight % nr;

		for (uint64_t k = 0; k < nr; k++)
			*to++ = (struct profile_sample){
				.time_ns = time_ns,
				.weight = e->weight / nr + (k < rest),
				.thread = e->thread,
				.stack = e->stack,
				.cpu = e->cpu,
				.column = e->column,
				.gil = e->gil,
				.labels = e->labels,
			};
	}
	return to;
}

struct profile_sample *slices_samples(const struct slices *s, size_t *ret_nr)
{
	uint32_t shift = shift_of(s);
	size_t nr = nr_samples(s, shift);
	struct profile_sample *list = xcalloc(nr + 1, sizeof(*list)), *at = list;

	at = add_samples(at, &s->past, s->first_ns, shift);
	for (uint64_t second = s->oldest; second <= s->newest; second++) {
		uint64_t time_ns = s->start_ns + second * NS_PER_S;

		at = add_samples(at, &slice_at(s, second)->entries,
				 time_ns > s->first_ns ? time_ns : s->first_ns, shift);
	}
	*ret_nr = nr;
	return list;
}

void slices_cpu_history(const struct slices *s, uint64_t ret_ns[SLICES_MINUTE])
{
	for (uint64_t i = 0; i < SLICES_MINUTE; i++) {
		uint64_t ago = SLICES_MINUTE - 1 - i;

		ret_ns[i] = ago > s->newest ? 0 : s->cpu_ns[(s->newest - ago) % SLICES_MINUTE];
	}
}
