/*
 * Reads the header of a chunk, its metadata, and its constants. Each set of constants names the one
 * before it. That chain could be a circle, so it is not followed: all events are passed over in
 * order, and the constants among them are taken. Numbers in the header are big-endian.
 */
#include "output/import/java/jfr_chunk.h"

#include <endian.h>
#include <errno.h>

#include "core/base/buffer.h"

enum { HEADER_SIZE = 68, METADATA_EVENT = 0, CONSTANTS_EVENT = 1, COMPRESSED_NUMBERS = 1 };

static const enum jfr_word pool_words[NR_JFR_POOLS] = {
	[JFR_POOL_STRINGS] = JFR_STRING,	 [JFR_POOL_TRACES] = JFR_STACK_TRACE,
	[JFR_POOL_METHODS] = JFR_METHOD,	 [JFR_POOL_CLASSES] = JFR_JAVA_CLASS,
	[JFR_POOL_SYMBOLS] = JFR_SYMBOL,	 [JFR_POOL_THREADS] = JFR_THREAD,
	[JFR_POOL_FRAME_TYPES] = JFR_FRAME_TYPE,
};

static uint64_t big_u64(struct cursor *c)
{
	return be64toh(cursor_u64(c));
}

/* Moves past the next event: its type, and the bytes after that. False at the end. */
static bool next_event(struct cursor *events, uint64_t *ret_type, struct cursor *ret_body)
{
	const uint8_t *start = events->at;
	struct cursor at = *events;
	uint64_t size = jfr_number(&at);
	uint64_t head = (uint64_t)(at.at - start);

	if (!cursor_left(events))
		return false;
	if (at.bad || size <= head || !cursor_has(events, size)) {
		events->bad = true;
		events->at = events->end;
		return false;
	}
	events->at += size;
	at.end = events->at;
	*ret_type = jfr_number(&at);
	*ret_body = at;
	return true;
}

static int read_metadata(struct jfr_chunk *k, uint64_t offset, uint64_t max_steps)
{
	struct cursor at = cursor_at(k->data, k->size, offset), body;
	uint64_t type;

	if (offset < HEADER_SIZE || at.bad || !next_event(&at, &type, &body) ||
	    type != METADATA_EVENT)
		return -EINVAL;
	return jfr_types_read(&k->types, body, max_steps);
}

static void find_pool_classes(struct jfr_chunk *k)
{
	for (size_t i = 0; i < k->types.nr_classes; i++)
		for (int pool = 0; pool < NR_JFR_POOLS; pool++)
			if (k->types.classes[i].word == pool_words[pool])
				k->pool_classes[pool] = &k->types.classes[i];
}

int jfr_chunk_init(struct jfr_chunk *k, const uint8_t *data, size_t size, uint64_t max_steps)
{
	struct cursor c = cursor_at(data, size, 0);
	uint64_t chunk_size, metadata;
	uint16_t major;
	int err;

	*k = (struct jfr_chunk){ .data = data };
	if (size < HEADER_SIZE || be32toh(cursor_u32(&c)) != 0x464c5200) /* "FLR\0" */
		return -EINVAL;
	major = be16toh(cursor_u16(&c));
	cursor_u16(&c);
	chunk_size = big_u64(&c);
	big_u64(&c); /* where the last constants are */
	metadata = big_u64(&c);
	k->start_ns = big_u64(&c);
	k->duration_ns = big_u64(&c);
	k->start_ticks = big_u64(&c);
	k->ticks_per_s = big_u64(&c);
	if (major != 2 || !(be32toh(cursor_u32(&c)) & COMPRESSED_NUMBERS))
		return -ENOTSUP;
	k->cut_off = chunk_size < HEADER_SIZE || chunk_size > size;
	k->size = k->cut_off ? size : (size_t)chunk_size;
	err = read_metadata(k, metadata, max_steps);
	find_pool_classes(k);
	return err;
}

void jfr_chunk_fini(struct jfr_chunk *k)
{
	for (int i = 0; i < NR_JFR_POOLS; i++)
		number_map_fini(&k->pools[i]);
	jfr_types_fini(&k->types);
	*k = (struct jfr_chunk){ 0 };
}

struct cursor jfr_events(const struct jfr_chunk *k)
{
	return cursor_at(k->data, k->size, HEADER_SIZE);
}

bool jfr_next_event(struct jfr_chunk *k, struct cursor *events, struct jfr_event *ret_event)
{
	uint64_t type;

	while (next_event(events, &type, &ret_event->body)) {
		ret_event->class = type > CONSTANTS_EVENT ? jfr_class(&k->types, type) : NULL;
		if (ret_event->class)
			return true;
	}
	return false;
}

/* The constants of one class. */
static void read_pool(struct jfr_chunk *k, struct cursor *c)
{
	const struct jfr_class *class = jfr_class(&k->types, jfr_number(c));
	int pool = 0;

	c->bad |= !class;
	while (class && pool < NR_JFR_POOLS && pool_words[pool] != class->word)
		pool++;
	for (uint64_t nr = jfr_number(c); nr && !c->bad && k->types.steps_left; nr--) {
		uint64_t number = jfr_number(c);
		size_t offset = (size_t)(c->at - k->data);
		bool is_new;

		k->types.steps_left--;
		jfr_read(&k->types, c, class, NULL, 0);
		if (!c->bad && pool < NR_JFR_POOLS)
			*number_map_at(&k->pools[pool], number, &is_new) = (uint32_t)offset + 1;
	}
	c->bad |= !k->types.steps_left;
}

int jfr_chunk_read_constants(struct jfr_chunk *k)
{
	struct cursor events = jfr_events(k), body;
	uint64_t type;

	while (next_event(&events, &type, &body)) {
		if (type != CONSTANTS_EVENT)
			continue;
		for (int i = 0; i < 3; i++)
			jfr_number(&body); /* the time, the duration, where those before are */
		cursor_u8(&body);	   /* why they were written */
		for (uint64_t nr = jfr_number(&body); nr && !body.bad; nr--)
			read_pool(k, &body);
		if (body.bad)
			return -EINVAL;
	}
	return events.bad && !k->cut_off ? -EINVAL : 0;
}

bool jfr_read_constant(struct jfr_chunk *k, enum jfr_pool pool, uint64_t number,
		       struct jfr_want *wants, size_t nr)
{
	bool is_new;
	uint32_t offset = *number_map_at(&k->pools[pool], number, &is_new);
	struct cursor c = cursor_at(k->data, k->size, offset - 1);

	if (!offset)
		return false;
	jfr_read(&k->types, &c, k->pool_classes[pool], wants, nr);
	return !c.bad;
}

/* Appends a constant of the class String. */
static void add_string(struct jfr_chunk *k, uint64_t number, struct buffer *text)
{
	uint64_t constant;
	bool is_new;
	uint32_t offset = *number_map_at(&k->pools[JFR_POOL_STRINGS], number, &is_new);
	struct cursor c = cursor_at(k->data, k->size, offset - 1);

	if (offset)
		jfr_text(&c, text, &constant);
}

void jfr_add_text(struct jfr_chunk *k, const struct jfr_want *want, struct buffer *text)
{
	struct jfr_want symbol = { .word = JFR_STRING_FIELD };
	const struct jfr_class *class = jfr_class(&k->types, want->field.class_id);
	uint64_t constant = want->number;
	size_t before = text->size;
	struct cursor c;

	if (want->found && want->field.in_pool && class && class->word == JFR_SYMBOL) {
		if (!jfr_read_constant(k, JFR_POOL_SYMBOLS, want->number, &symbol, 1))
			return;
		want = &symbol;
	}
	c = want->at;
	if (want->found && !want->field.is_array &&
	    (want->field.in_pool || jfr_text(&c, text, &constant)))
		add_string(k, constant, text);
	jfr_count_text(&k->types, text->size - before);
}

uint64_t jfr_time_ns(const struct jfr_chunk *k, uint64_t ticks)
{
	double elapsed = (double)(int64_t)(ticks - k->start_ticks) / (double)k->ticks_per_s * 1e9;

	return elapsed > 0 && elapsed < 1e18 ? k->start_ns + (uint64_t)elapsed : k->start_ns;
}
