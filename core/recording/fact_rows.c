/*
 * A row is written as varints, field by field, so small numbers take one byte. A lost string reads
 * as "", a lost thread as none, as everywhere in a recording.
 */
#include "core/recording/fact_rows.h"

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/profile/column.h"
#include "core/profile/profile.h"
#include "core/recording/decode.h"
#include "core/recording/part_sums.h"

/*
 * Limits on the rows that are kept: a row of zeros takes two bytes in the file and 200 in memory.
 * Rows with a key replace earlier ones and are counted once. Rows without a key have a limit of
 * their own, so that they never take the room of the others.
 */
#define MAX_SUMS (1u << 21)
#define MAX_LISTED (1u << 22)

void facts_encode(struct buffer *b, struct buffer *entry, enum fact_kind kind, const void *row)
{
	const struct fact_info *info = fact_info(kind);
	const uint64_t *values = row;

	entry->size = 0;
	for (uint32_t i = 0; i < info->nr_fields; i++) {
		switch ((enum fact_field)info->fields[i]) {
		case FIELD_SIGNED: buffer_add_zigzag(entry, (int64_t)values[i]); break;
		case FIELD_STACK:
		case FIELD_THREAD: buffer_add_varint(entry, (uint32_t)(values[i] + 1)); break;
		case FIELD_NUMBER:
		case FIELD_PID:
		case FIELD_TIME:
		case FIELD_STRING: buffer_add_varint(entry, values[i]); break;
		}
	}
	buffer_add_varint(b, kind);
	buffer_add_varint(b, entry->size);
	buffer_add(b, entry->data, entry->size);
}

static bool decode_field(const struct decoder *d, struct cursor *c, char field, uint64_t *ret_value)
{
	uint64_t number;
	uint32_t id;

	if (!cursor_get(c, &number))
		return false;
	switch ((enum fact_field)field) {
	case FIELD_STRING:
		if (number >= d->strings.nr)
			return false;
		id = d->strings.ids[number];
		*ret_value = id == PROFILE_NONE ? 0 : id;
		break;
	case FIELD_THREAD:
		if (number > d->threads.nr)
			return false;
		*ret_value = number ? d->threads.ids[number - 1] : PROFILE_NONE;
		break;
	case FIELD_STACK:
		if (number > d->stacks.nr)
			return false;
		*ret_value = number ? d->stacks.ids[number - 1] : PROFILE_NONE;
		break;
	case FIELD_SIGNED: *ret_value = (uint64_t)zigzag_decode(number); break;
	case FIELD_PID: *ret_value = (uint32_t)number; break; /* its high half is the host */
	case FIELD_NUMBER:
	case FIELD_TIME: *ret_value = number; break;
	}
	return true;
}

static bool is_id(char field)
{
	return field == FIELD_THREAD || field == FIELD_STACK;
}

/* Are rows of this kind kept where their recording is one of several? */
static bool is_kept_in_parts(enum fact_kind kind)
{
	return part_sums_take(kind) || kind == FACT_PROCESS || kind == FACT_RANK ||
	       kind == FACT_EVENT || kind == FACT_LIMIT || kind == FACT_DERIVED_RULES ||
	       kind == FACT_RATE || kind == FACT_COST || kind == FACT_MEMORY_UNHOOKED;
}

/*
 * Translates the times and processes of a row. Returns false if it is of a moment outside the
 * wanted span; rows with a key are about a whole span, and stay.
 */
static bool place_in_whole(const struct decoder *d, const struct fact_info *info, uint64_t *row)
{
	uint64_t host = decoder_host(d);

	for (uint32_t i = 0; i < info->nr_fields; i++) {
		if (info->fields[i] == FIELD_PID && row[i])
			row[i] |= host << 32;
		if (info->fields[i] != FIELD_TIME || !row[i])
			continue;
		if (!info->nr_key && !decoder_is_in_window(d, row[i]))
			return false;
		row[i] = decoder_time(d, row[i]);
	}
	return true;
}

/*
 * Fields missing at the end of an entry are 0, or no thread: the entry is from an earlier version.
 */
static bool decode_entry(struct decoder *d, enum fact_kind kind, struct cursor *entry)
{
	const struct fact_info *info = fact_info(kind);
	uint64_t row[FACT_MAX_FIELDS] = { 0 };

	for (uint32_t i = 0; i < info->nr_fields; i++) {
		if (entry->at == entry->end)
			row[i] = is_id(info->fields[i]) ? PROFILE_NONE : 0;
		else if (!decode_field(d, entry, info->fields[i], &row[i]))
			return false;
	}
	if (d->is_part && (!is_kept_in_parts(kind) || !place_in_whole(d, info, row)))
		return true;
	if (kind == FACT_EVENT && !decoder_place_event(d, (struct fact_event *)row))
		return true;
	if (info->nr_key ? d->nr_sums == MAX_SUMS : d->nr_listed == MAX_LISTED) {
		d->p->nr_facts_left_out++;
		return true;
	}
	if (d->is_part && part_sums_take(kind) ? part_sums_put(d, kind, row)
					       : facts_put(d->p, kind, row))
		*(info->nr_key ? &d->nr_sums : &d->nr_listed) += 1;
	if (kind == FACT_EVENT)
		column_name_event(d->p, (const struct fact_event *)row);
	return true;
}

bool facts_decode(struct decoder *d, struct cursor *c)
{
	while (c->at < c->end) {
		struct cursor entry;
		uint64_t kind;

		if (!cursor_get(c, &kind) || !cursor_get_bytes(c, SIZE_MAX, &entry))
			return false;
		if (fact_info(kind) && !decode_entry(d, (enum fact_kind)kind, &entry))
			return false;
	}
	return true;
}
