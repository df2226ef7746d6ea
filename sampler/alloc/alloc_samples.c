/*
 * All that is read here was written by the target, so each record is copied before it is checked,
 * and the position in the ring that counts is our own.
 */
#include "sampler/alloc/alloc_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/portable/pycode.h"
#include "core/profile/column.h"
#include "core/profile/source.h"
#include "core/profile/markers.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/alloc/tensor_levels.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/walk/walk_publisher.h"

#define HEAD_WORDS (sizeof(struct alloc_draw) / 8)
#define STUCK_NS (1000ull * 1000 * 1000)
#define REFRESH_NS (500ull * 1000 * 1000)
#define YOUNG_NS (1000ull * 1000 * 1000)
#define KEPT_MAX (4u * ALLOC_NR_LIVE) /* then the table is compared at once */
#define COMPARE_NS (2000ull * 1000 * 1000)
#define COMPARE_SHARE 100u /* comparing takes at most one part in so many of the time */
#define NESTED_FRAMES 16u
#define SIZE_MAX_BYTES (1ull << 47)

struct kept_sample {
	uint64_t number;
	uint64_t address, time_ns;
	struct alloc_weight weight;
	uint32_t stack, thread;
	uint32_t labels;
	enum memory_kind kind;
	bool told; /* the sink has it: it wants what is allocated then */
	bool seen; /* in the table, at the last comparison */
	bool held; /* freed only after the end of sampling */
	UT_hash_handle hh;
};

struct alloc_samples {
	struct kept_sample *kept; /* not freed so far; by number (uthash) */
	uint64_t tail;		  /* of the ring: ours */
	uint64_t stuck_ns, refreshed_ns;
	uint64_t compare_ns; /* when the table is compared next */
	uint64_t nr_spoilt;
	uint64_t nr_unsized; /* of these: many at once, nobody knows how many */
};

struct alloc_samples *alloc_samples_new(void)
{
	struct alloc_samples *s = xcalloc(1, sizeof(*s));

	return s;
}

static void forget(struct alloc_samples *s, struct kept_sample *k)
{
	HASH_DEL(s->kept, k);
	free(k);
}

void alloc_samples_free(struct alloc_samples *s)
{
	struct kept_sample *k, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->kept, k, next)
		forget(s, k);
	free(s);
}

/* ---- weights */

static uint64_t round_at_random(double value, uint64_t number)
{
	double whole = floor(value);
	uint64_t mixed = number * 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ull;
	return (uint64_t)whole + ((double)(mixed >> 11) * 0x1p-53 < value - whole);
}

struct alloc_weight alloc_weight_of(uint64_t size, uint64_t interval, uint64_t number)
{
	double chance = -expm1(-(double)size / (double)interval);

	return (struct alloc_weight){
		.bytes = round_at_random((double)size / chance, number),
		.count = round_at_random(1 / chance, ~number),
	};
}

/* ---- records */

static bool is_sound(const struct alloc_draw *d, size_t nr_frames)
{
	const size_t max = MAX_LEAF_FRAMES + MAX_ROOT_FRAMES;

	return (d->type == ALLOC_DRAW || d->type == ALLOC_DRAW_OF_TENSOR) && d->number &&
	       d->address > 1 && d->size && d->size < SIZE_MAX_BYTES && d->interval &&
	       d->interval < SIZE_MAX_BYTES && nr_frames && nr_frames == d->nr_frames &&
	       nr_frames <= max && d->nr_total >= nr_frames &&
	       (d->nr_total == nr_frames || nr_frames == max) && d->tid > 0;
}

/*
 * Was it made by a hooked function for its own use, as realloc(3) calls malloc(3)? That function
 * has counted it already.
 */
static bool is_nested(const struct alloc_target *t, const uint64_t *frames, size_t nr)
{
	for (size_t i = 0; i < nr && i < NESTED_FRAMES; i++) {
		for (size_t k = 0; k < t->hooks.nr; k++) {
			const struct alloc_function *f = t->hooks.hooks[k].function;

			if (frames[i] > f->address && frames[i] <= f->address + f->size &&
			    !alloc_entry_is_tensor(f->entry))
				return true;
		}
	}
	return false;
}

static bool is_in_pythons_allocators(const struct alloc_target *t, uint64_t pc)
{
	for (size_t i = 0; i < t->nr_functions; i++) {
		const struct alloc_function *f = t->functions[i];

		if (f->entry >= NR_ALLOC_ENTRIES && pc > f->address && pc <= f->address + f->size)
			return true;
	}
	return false;
}

static bool is_pythons_slot(const struct alloc_target *t, uint32_t site)
{
	for (size_t i = 0; i < t->hooks.nr; i++)
		if (t->hooks.hooks[i].kind.site == site)
			return t->hooks.hooks[i].plan.is_slot;
	return false;
}

/* Was it asked for through Python's allocators, or by code that a function of Python called? */
static bool is_pythons(const struct alloc_target *t, const struct alloc_draw *d,
		       const uint64_t *frames)
{
	for (uint32_t i = 0; i < d->nr_frames; i++)
		if (FRAME_IS_PYTHON(frames[i]))
			return true;
	if (is_pythons_slot(t, d->site))
		return true;
	for (uint32_t i = 0; i < d->nr_frames && i < NESTED_FRAMES; i++)
		if (is_in_pythons_allocators(t, frames[i]))
			return true;
	return false;
}

/* Is it counted elsewhere, or not asked for? What no Python asked for is counted. */
static bool is_left_out(struct alloc_target *t, const struct alloc_draw *d, const uint64_t *frames)
{
	if (d->type == ALLOC_DRAW_OF_TENSOR)
		return false;
	if (is_nested(t, frames, d->nr_frames))
		return true;
	if (!t->only_python || is_pythons(t, d, frames))
		return false;
	t->nr_left_out++;
	t->left_out_bytes += alloc_weight_of(d->size, d->interval, d->number).bytes;
	return true;
}

/* Returns whether the sink wanted it. */
static bool emit(struct sink *sink, const struct kept_sample *k, uint64_t time_ns,
		 enum memory_part bytes, enum memory_part count)
{
	struct profile_sample sample = {
		.time_ns = time_ns,
		.thread = k->thread,
		.stack = k->stack,
		.column = (uint8_t)memory_column(k->kind, bytes),
		.weight = k->weight.bytes,
		.labels = k->labels,
	};

	if (sink->wants && !sink->wants(sink, &sample))
		return false;
	sink->sample(sink, &sample);
	sample.column = (uint8_t)memory_column(k->kind, count);
	sample.weight = k->weight.count;
	sink->sample(sink, &sample);
	return true;
}

/* The block was freed at that time, by whichever thread. */
static void end_block(struct alloc_samples *s, struct kept_sample *k, uint64_t time_ns,
		      struct sink *sink)
{
	const struct profile_sample sample = {
		.time_ns = time_ns > k->time_ns ? time_ns : k->time_ns,
		.thread = k->thread,
		.stack = k->stack,
		.column = COLUMN_LIFETIME,
		.labels = k->labels,
		.weight = time_ns > k->time_ns ? time_ns - k->time_ns : 0,
	};

	if (k->told)
		sink->sample(sink, &sample);
	forget(s, k);
}

static void resolve(struct alloc_target *t, const struct alloc_draw *d, const uint64_t *frames,
		    struct sink *sink, struct kept_sample *k)
{
	struct walked w = {
		.user = frames,
		.nr_user = d->nr_frames,
		.marker = walk_marker(d->end),
		.python_broken = d->python_broken,
	};

	if (d->nr_total > d->nr_frames) {
		w.gap = MAX_LEAF_FRAMES;
		w.rotation = (d->nr_total - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
	}
	k->stack = walk_target_stack(t->walk, sink, &w, d->tid, &k->thread).stack;
}

/* Of tensors, an interval of 1 has chosen every block. */
static struct alloc_weight weight_of(const struct alloc_draw *d)
{
	if (d->type == ALLOC_DRAW_OF_TENSOR && d->interval == 1)
		return (struct alloc_weight){ .bytes = d->size, .count = 1 };
	return alloc_weight_of(d->size, d->interval, d->number);
}

static void take_draw(struct alloc_target *t, const struct alloc_draw *d, const uint64_t *frames,
		      struct sink *sink)
{
	struct alloc_samples *s = t->samples;
	uint64_t now = monotonic_ns();
	struct kept_sample *k;

	if ((d->end == END_NO_MAP || d->end == END_STALE) && now - s->refreshed_ns > REFRESH_NS) {
		s->refreshed_ns = now;
		walk_target_refresh(t->walk);
	}
	if (d->time_ns < t->start_ns || is_left_out(t, d, frames))
		return;
	HASH_FIND(hh, s->kept, &d->number, sizeof(d->number), k);
	if (k)
		return; /* a number is given out once */
	k = xcalloc(1, sizeof(*k));
	k->number = d->number;
	k->address = d->address;
	k->time_ns = d->time_ns < now ? d->time_ns : now; /* a target can write any time */
	k->weight = weight_of(d);
	if (d->type == ALLOC_DRAW_OF_TENSOR) {
		k->kind = tensor_device_kind(d->site);
		k->labels = tensor_device_label(sink, d->site);
		tensor_levels_see_interval(t->tensors, d->interval);
	}
	resolve(t, d, frames, sink, k);
	k->told = emit(sink, k, k->time_ns, MEMORY_ALLOCATED, MEMORY_ALLOCATIONS);
	HASH_ADD(hh, s->kept, number, sizeof(k->number), k);
}

/* ---- the ring */

static void skip(struct alloc_target *t, uint64_t nr_words)
{
	struct alloc_samples *s = t->samples;

	s->nr_spoilt++;
	s->nr_unsized += !nr_words;
	if (t->only_tensors)
		__atomic_fetch_add(&t->shared->nr_lost_tensors, 1, __ATOMIC_RELAXED);
	s->tail = nr_words ? s->tail + nr_words
			   : __atomic_load_n(&t->shared->ring.head, __ATOMIC_ACQUIRE);
	s->stuck_ns = 0;
	ring_release(&t->shared->ring, s->tail);
}

/* Has the record at the tail been unfinished for long? Its thread is gone. */
static bool is_stuck(struct alloc_samples *s, uint64_t now)
{
	if (!s->stuck_ns)
		s->stuck_ns = now;
	return now - s->stuck_ns > STUCK_NS;
}

static void take_freed(struct alloc_target *t, const struct alloc_freed *f, struct sink *sink)
{
	uint64_t now = monotonic_ns();
	struct kept_sample *k;

	HASH_FIND(hh, t->samples->kept, &f->number, sizeof(f->number), k);
	if (k && k->kind == MEMORY_MALLOC && t->stop_ns && f->time_ns >= t->stop_ns)
		k->held = true;
	else if (k) /* else it was left out */
		end_block(t->samples, k, f->time_ns < now ? f->time_ns : now, sink);
}

/* When our table of code objects is full, the target sends again what it still meets. */
static void take_code(struct alloc_target *t, const uint64_t *words, size_t nr_words)
{
	if (!walk_target_add_code(t->walk, (const struct code_record *)words, nr_words * 8))
		memset(t->shared->codes, 0, sizeof(t->shared->codes));
}

static void spoil(struct alloc_target *t, uint16_t type)
{
	t->samples->nr_spoilt++;
	if (type == ALLOC_DRAW_OF_TENSOR)
		__atomic_fetch_add(&t->shared->nr_lost_tensors, 1, __ATOMIC_RELAXED);
}

/* Returns whether it was a draw by the interval that follows the rate of draws. */
static bool take_record(struct alloc_target *t, uint32_t nr, struct sink *sink)
{
	struct alloc_samples *s = t->samples;
	uint64_t copy[RING_MAX_RECORD];
	struct alloc_freed freed;
	struct alloc_draw draw;

	for (uint32_t i = 1; i < nr; i++)
		copy[i - 1] = ring_get(t->shared->words, ALLOC_RING_WORDS, s->tail + i);
	s->tail += nr;
	ring_release(&t->shared->ring, s->tail);
	nr--;
	if (nr == sizeof(freed) / 8) {
		memcpy(&freed, copy, sizeof(freed));
		take_freed(t, &freed, sink);
		return false;
	}
	if (nr < HEAD_WORDS) {
		s->nr_spoilt++;
		return false;
	}
	memcpy(&draw, copy, sizeof(draw));
	if (draw.type == ALLOC_CODE) {
		take_code(t, copy + HEAD_WORDS, nr - HEAD_WORDS);
		return false;
	}
	if (is_sound(&draw, nr - HEAD_WORDS))
		take_draw(t, &draw, copy + HEAD_WORDS, sink);
	else
		spoil(t, draw.type);
	return draw.type != ALLOC_DRAW_OF_TENSOR;
}

/* Marks the samples whose blocks are in the table. */
static void look_at_table(struct alloc_target *t)
{
	struct kept_sample *k, *next;

	HASH_ITER (hh, t->samples->kept, k, next)
		k->seen = false;
	for (size_t i = 0; i < ALLOC_NR_LIVE; i++) {
		uint64_t address = __atomic_load_n(&t->shared->live[i].address, __ATOMIC_ACQUIRE);
		uint64_t number = __atomic_load_n(&t->shared->live[i].draw, __ATOMIC_RELAXED);

		if (address <= 1)
			continue;
		HASH_FIND(hh, t->samples->kept, &number, sizeof(number), k);
		if (k && k->address == address) /* else nested, or moved meanwhile */
			k->seen = true;
	}
}

/*
 * What has left the table without a record was freed where no hook saw it, or its record found no
 * room. The record of a draw is in the ring a moment before its block is in the table.
 */
static void compare_table(struct alloc_target *t, uint64_t now, struct sink *sink)
{
	struct kept_sample *k, *next;

	look_at_table(t);
	HASH_ITER (hh, t->samples->kept, k, next)
		if (!k->seen && now > k->time_ns + YOUNG_NS)
			end_block(t->samples, k, now, sink);
}

/* `over`: no thread writes any more. Returns the number of draws. */
static uint64_t take_records(struct alloc_target *t, bool over, struct sink *sink)
{
	struct alloc_samples *s = t->samples;
	uint64_t first = s->tail, now = monotonic_ns(), nr_draws = 0;

	/* At most a ring: a target that writes as fast as we read must not keep us here. */
	while (s->tail - first < ALLOC_RING_WORDS) {
		uint32_t nr;
		enum ring_state state = ring_peek(&t->shared->ring, t->shared->words,
						  ALLOC_RING_WORDS, s->tail, &nr);

		if (state == RING_EMPTY)
			break;
		if (state == RING_BROKEN || (state == RING_STARTED && (over || is_stuck(s, now)))) {
			skip(t, state == RING_BROKEN ? 0 : nr);
			continue;
		}
		if (state == RING_STARTED)
			break;
		s->stuck_ns = 0;
		nr_draws += take_record(t, nr, sink);
	}
	return nr_draws;
}

uint64_t alloc_samples_drain(struct alloc_target *t, struct sink *sink)
{
	uint64_t nr_draws = take_records(t, false, sink), now = monotonic_ns(), took;

	if (now >= t->samples->compare_ns || HASH_COUNT(t->samples->kept) > KEPT_MAX) {
		compare_table(t, now, sink);
		took = monotonic_ns() - now;
		t->samples->compare_ns =
			now +
			(took * COMPARE_SHARE > COMPARE_NS ? took * COMPARE_SHARE : COMPARE_NS);
	}
	return nr_draws;
}

void alloc_samples_finish(struct alloc_target *t, uint64_t end_ns, struct sink *sink)
{
	struct kept_sample *k, *next;

	take_records(t, true, sink);
	look_at_table(t);
	HASH_ITER (hh, t->samples->kept, k, next) {
		if (k->seen || k->held) {
			if (emit(sink, k, end_ns, MEMORY_LIVE, MEMORY_LIVE_OBJECTS) &&
			    k->kind == MEMORY_MALLOC)
				t->live_bytes += k->weight.bytes;
			forget(t->samples, k);
		} else {
			end_block(t->samples, k, end_ns, sink);
		}
	}
}

void alloc_samples_tell(const struct alloc_target *t, struct sink *sink)
{
	uint64_t lost = alloc_samples_nr_lost(t);
	uint64_t tensors = __atomic_load_n(&t->shared->nr_lost_tensors, __ATOMIC_RELAXED);
	const struct fact_memory_sampled fact = {
		.pid = (uint64_t)t->pid,
		.least_interval = t->least_interval,
		.greatest_interval = t->greatest_interval,
		.lost = lost > tensors ? lost - tensors : 0,
		.lost_more = t->samples->nr_unsized,
	};

	if (t->only_tensors)
		return;
	sink->fact(sink, FACT_MEMORY_SAMPLED, &fact);
}

uint64_t alloc_samples_nr_lost(const struct alloc_target *t)
{
	uint64_t dropped = __atomic_load_n(&t->shared->ring.nr_dropped, __ATOMIC_RELAXED);
	uint64_t frees = __atomic_load_n(&t->shared->nr_lost_frees, __ATOMIC_RELAXED);

	/* The table of live blocks makes up for frees that found no room. */
	return t->samples->nr_spoilt + (dropped > frees ? dropped - frees : 0) +
	       __atomic_load_n(&t->shared->nr_no_scratch, __ATOMIC_RELAXED);
}

bool alloc_samples_lost_more(const struct alloc_target *t)
{
	return t->samples->nr_unsized != 0;
}
