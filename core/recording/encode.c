/*
 * Tables are written entry by entry as record.h specifies them. New entries wait until a chunk is
 * filled; each table then starts a record that ends when the chunk is full.
 */
#include "core/recording/encode.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/recording/fact_rows.h"
#include "core/base/varint.h"

/*
 * After so many stacks all hashes are forgotten, and stacks that recur are written again. It is
 * what 4 MiB of slots hold before the table would double.
 */
#define MAX_KNOWN_STACKS (3u << 17)

void encoder_init(struct encoder *e)
{
	*e = (struct encoder){ .vocabulary = profile_new() };
	e->written.string = e->first.string = 1; /* "" is not written */
}

void encoder_fini(struct encoder *e)
{
	profile_free(e->vocabulary);
	buffer_fini(&e->content);
	buffer_fini(&e->entry);
	buffer_fini(&e->stacks);
	buffer_fini(&e->facts);
	for (size_t i = 0; i < NR_RECORD_COLUMNS; i++)
		buffer_fini(&e->columns[i]);
	intern_fini(&e->stack_index);
	free(e->stack_hashes);
	free(e->previous);
}

/* Returns the offset of the record's head, in which end_record() fills in the size. */
static size_t begin_record(struct encoder *e, enum record_type type)
{
	struct record_head head = { .type = type };
	size_t at = e->content.size;

	buffer_add(&e->content, &head, sizeof(head));
	return at;
}

static void end_record(struct encoder *e, size_t at)
{
	struct record_head head;

	memcpy(&head, e->content.data + at, sizeof(head));
	head.size = e->content.size - at - sizeof(head);
	memcpy(e->content.data + at, &head, sizeof(head));
}

static void put_string(struct encoder *e, const char *s)
{
	size_t length = strnlen(s, RECORD_MAX_STRING);

	buffer_add_varint(&e->content, length);
	buffer_add(&e->content, s, length);
}

void encoder_meta(struct encoder *e, const char *const (*pairs)[2], size_t nr)
{
	size_t record = begin_record(e, RECORD_META);

	for (size_t i = 0; i < nr; i++) {
		if (!pairs[i][1])
			continue;
		put_string(e, pairs[i][0]);
		put_string(e, pairs[i][1]);
	}
	end_record(e, record);
}

static bool stack_hash_equal(const void *owner, uint32_t id, const void *key)
{
	const struct encoder *e = owner;

	return e->stack_hashes[id - e->first_known_stack] == *(const uint64_t *)key;
}

static void encode_stack(struct encoder *e, const uint32_t *frames, size_t nr)
{
	size_t shared = 0;

	while (shared < nr && shared < e->nr_previous && frames[shared] == e->previous[shared])
		shared++;
	buffer_add_varint(&e->stacks, shared);
	buffer_add_varint(&e->stacks, nr - shared);
	for (size_t i = shared; i < nr; i++)
		buffer_add_varint(&e->stacks, frames[i]);
	e->previous = xgrow(e->previous, &e->previous_capacity, nr, sizeof(*frames));
	if (nr > shared)
		memcpy(e->previous + shared, frames + shared, (nr - shared) * sizeof(*frames));
	e->nr_previous = nr;
}

uint32_t encoder_stack(struct encoder *e, const uint32_t *frames, size_t nr)
{
	uint32_t next = e->nr_stacks, id;
	uint64_t hash;

	if (nr > RECORD_MAX_DEPTH)
		nr = RECORD_MAX_DEPTH;
	hash = XXH3_64bits(frames, nr * sizeof(*frames));
	if (e->stack_index.nr == MAX_KNOWN_STACKS) {
		intern_fini(&e->stack_index);
		e->first_known_stack = next;
	}
	id = intern_id(&e->stack_index, (uint32_t)hash, next, stack_hash_equal, e, &hash);
	if (id == next) {
		size_t at = next - e->first_known_stack;

		e->stack_hashes = xgrow(e->stack_hashes, &e->stack_hashes_capacity, at + 1,
					sizeof(*e->stack_hashes));
		e->stack_hashes[at] = hash;
		encode_stack(e, frames, nr);
		e->nr_stacks++;
	}
	return id;
}

void encoder_sample(struct encoder *e, const struct profile_sample *sample)
{
	struct buffer *columns = e->columns;

	buffer_add_zigzag(&columns[RECORD_COLUMN_TIME],
			  (int64_t)(sample->time_ns - e->last_time_ns));
	buffer_add_varint(&columns[RECORD_COLUMN_THREAD], (uint32_t)(sample->thread + 1));
	buffer_add_varint(&columns[RECORD_COLUMN_STACK], sample->stack);
	buffer_add_varint(&columns[RECORD_COLUMN_CPU], sample->cpu);
	buffer_add_zigzag(&columns[RECORD_COLUMN_WEIGHT],
			  (int64_t)(sample->weight - e->last_weight));
	buffer_add_varint(&columns[RECORD_COLUMN_COLUMN], sample->column);
	buffer_add_varint(&columns[RECORD_COLUMN_GIL], sample->gil);
	buffer_add_varint(&columns[RECORD_COLUMN_LABELS], sample->labels);
	e->has_gil |= sample->gil != GIL_UNKNOWN;
	e->has_labels |= sample->labels != 0;
	e->last_time_ns = sample->time_ns;
	e->last_weight = sample->weight;
	e->nr_samples++;
}

void encoder_fact(struct encoder *e, enum fact_kind kind, const void *row)
{
	facts_encode(&e->facts, &e->entry, kind, row);
}

void encoder_symbols(struct encoder *e)
{
	e->with_symbols = true;
	e->located_frame = 0;
}

size_t encoder_pending_bytes(const struct encoder *e)
{
	size_t size = e->stacks.size + e->facts.size;

	for (size_t i = 0; i < NR_RECORD_COLUMNS; i++)
		size += e->columns[i].size;
	return size;
}

bool encoder_has_pending(const struct encoder *e)
{
	const struct profile *v = e->vocabulary;
	const struct record_first *w = &e->written;

	return e->content.size || e->stacks.size || e->facts.size || e->nr_samples ||
	       w->string < v->nr_strings || w->module < v->nr_modules ||
	       w->thread < v->nr_threads || w->frame < v->nr_frames ||
	       (e->with_symbols && e->located_frame < v->nr_frames);
}

/* ---- the tables: each writes entry `id`; `last_address` is the address of the frame before */
static void encode_string(struct encoder *e, uint32_t id, uint64_t *last_address)
{
	(void)last_address;
	put_string(e, e->vocabulary->strings[id]);
}

static void encode_module(struct encoder *e, uint32_t id, uint64_t *last_address)
{
	const struct profile_module *module = &e->vocabulary->modules[id];

	(void)last_address;
	e->entry.size = 0;
	buffer_add_varint(&e->entry, module->path);
	/* What pid and ino hold depends on the kind: struct profile_module. */
	buffer_add_varint(&e->entry, module->pid);
	buffer_add_varint(&e->entry, module->kind);
	buffer_add_varint(&e->entry, module->dev);
	buffer_add_varint(&e->entry, module->ino);
	buffer_add_varint(&e->entry, module->build_id_size);
	buffer_add(&e->entry, module->build_id, module->build_id_size);
	buffer_add_varint(&e->content, e->entry.size);
	buffer_add(&e->content, e->entry.data, e->entry.size);
}

static void encode_thread(struct encoder *e, uint32_t id, uint64_t *last_address)
{
	const struct profile_thread *thread = &e->vocabulary->threads[id];

	(void)last_address;
	buffer_add_varint(&e->content, thread->pid);
	buffer_add_varint(&e->content, thread->tid);
	buffer_add_varint(&e->content, thread->comm);
}

static void encode_frame(struct encoder *e, uint32_t id, uint64_t *last_address)
{
	const struct profile_frame *frame = &e->vocabulary->frames[id];

	buffer_add_varint(&e->content, frame->module);
	buffer_add_zigzag(&e->content, (int64_t)(frame->address - *last_address));
	*last_address = frame->address;
}

static void encode_function(struct encoder *e, uint32_t id, uint64_t *last_address)
{
	const struct profile_function *function = &e->vocabulary->functions[id];

	(void)last_address;
	buffer_add_varint(&e->content, function->name);
	buffer_add_varint(&e->content, function->system_name);
	buffer_add_varint(&e->content, (uint32_t)(function->module + 1));
	buffer_add_varint(&e->content, function->file);
	buffer_add_varint(&e->content, function->start_line);
	buffer_add_varint(&e->content, function->kind);
}

static void encode_locations(struct encoder *e, uint32_t id, uint64_t *last_address)
{
	const struct profile_frame *frame = &e->vocabulary->frames[id];
	const struct profile_location *locations = e->vocabulary->locations;

	(void)last_address;
	if (!frame->nr_locations)
		return;
	buffer_add_varint(&e->content, id);
	buffer_add_varint(&e->content, frame->nr_locations);
	for (uint32_t i = 0; i < frame->nr_locations; i++) {
		const struct profile_location *location = &locations[frame->first_location + i];

		buffer_add_varint(&e->content, location->function);
		buffer_add_varint(&e->content, (uint64_t)location->line << 1 | location->inlined);
	}
}

typedef void encode_entry(struct encoder *e, uint32_t id, uint64_t *last_address);

/* Writes the entries from *written to nr while they fit. Returns true where some did not. */
static bool encode_table(struct encoder *e, enum record_type type, encode_entry *entry,
			 uint32_t *written, size_t nr, size_t limit_bytes)
{
	uint64_t last_address = 0;
	size_t record;

	if (*written == nr)
		return false;
	record = begin_record(e, type);
	while (*written < nr && e->content.size < limit_bytes)
		entry(e, (*written)++, &last_address);
	end_record(e, record);
	return *written < nr;
}

static void encode_pending_stacks(struct encoder *e)
{
	size_t record;

	if (!e->stacks.size)
		return;
	record = begin_record(e, RECORD_STACKS);
	buffer_add(&e->content, e->stacks.data, e->stacks.size);
	end_record(e, record);
	e->stacks.size = 0;
	e->nr_previous = 0;
	e->written.stack = e->nr_stacks;
}

static void encode_pending_samples(struct encoder *e)
{
	size_t nr_columns = e->has_labels ? RECORD_COLUMN_LABELS + 1
			    : e->has_gil  ? RECORD_COLUMN_GIL + 1
					  : MIN_RECORD_COLUMNS;
	size_t record;

	if (!e->nr_samples)
		return;
	record = begin_record(e, RECORD_SAMPLES);
	buffer_add_varint(&e->content, e->nr_samples);
	buffer_add_varint(&e->content, nr_columns);
	for (size_t i = 0; i < nr_columns; i++)
		buffer_add_varint(&e->content, e->columns[i].size);
	for (size_t i = 0; i < nr_columns; i++)
		buffer_add(&e->content, e->columns[i].data, e->columns[i].size);
	for (size_t i = 0; i < NR_RECORD_COLUMNS; i++)
		e->columns[i].size = 0;
	end_record(e, record);
	e->has_gil = e->has_labels = false;
	e->nr_chunk_samples += e->nr_samples;
	e->nr_samples = 0;
	e->last_time_ns = e->last_weight = 0;
}

static void encode_pending_facts(struct encoder *e)
{
	size_t record;

	if (!e->facts.size)
		return;
	record = begin_record(e, RECORD_FACTS);
	buffer_add(&e->content, e->facts.data, e->facts.size);
	end_record(e, record);
	e->facts.size = 0;
}

static void put_stat(struct encoder *e, uint32_t stat, uint64_t value)
{
	buffer_add_varint(&e->content, stat);
	buffer_add_varint(&e->content, value);
}

static void encode_stats(struct encoder *e)
{
	const struct profile_stats *stats = &e->stats;
	size_t record = begin_record(e, RECORD_STATS);

	put_stat(e, RECORD_STAT_SAMPLES, e->first_sample + e->nr_chunk_samples);
	put_stat(e, RECORD_STAT_LOST, stats->nr_lost);
	put_stat(e, RECORD_STAT_SNAPSHOTS, stats->nr_snapshots);
	put_stat(e, RECORD_STAT_THROTTLED, stats->nr_throttled);
	put_stat(e, RECORD_STAT_ROWS, stats->nr_rows);
	put_stat(e, RECORD_STAT_LIMITS, stats->nr_limits);
	for (uint32_t i = 0; i < NR_MARKERS; i++) {
		if (stats->nr_incomplete[i])
			put_stat(e, RECORD_STAT_INCOMPLETE + i, stats->nr_incomplete[i]);
	}
	end_record(e, record);
}

bool encoder_fill(struct encoder *e, size_t limit)
{
	const struct profile *v = e->vocabulary;
	struct record_first *w = &e->written;
	bool more;

	more = encode_table(e, RECORD_STRINGS, encode_string, &w->string, v->nr_strings, limit) ||
	       encode_table(e, RECORD_MODULES, encode_module, &w->module, v->nr_modules, limit) ||
	       encode_table(e, RECORD_THREADS, encode_thread, &w->thread, v->nr_threads, limit) ||
	       encode_table(e, RECORD_FRAMES, encode_frame, &w->frame, v->nr_frames, limit);
	if (!more && e->with_symbols)
		more = encode_table(e, RECORD_FUNCTIONS, encode_function, &w->function,
				    v->nr_functions, limit) ||
		       encode_table(e, RECORD_LOCATIONS, encode_locations, &e->located_frame,
				    v->nr_frames, limit);
	if (!more) {
		encode_pending_stacks(e);
		encode_pending_samples(e);
		encode_pending_facts(e);
	}
	encode_stats(e);
	return more;
}

void encoder_next_chunk(struct encoder *e)
{
	e->content.size = 0;
	e->first = e->written;
	e->first_sample += e->nr_chunk_samples;
	e->nr_chunk_samples = 0;
}
