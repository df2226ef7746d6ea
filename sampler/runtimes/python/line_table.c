/*
 * Each format is a list of entries, walked until one covers the position. Malformed tables end
 * early. Sources: CPython's Objects/lnotab_notes.txt (3.8 to 3.10) and Objects/locations.md (3.11
 * on; InternalDocs/code_objects.md later).
 */
#include "sampler/runtimes/python/line_table.h"

#include "core/base/cursor.h"

#define UNIT 2 /* bytes of a code unit */

static uint32_t checked(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of code bytes and signed lines. A pair takes effect where its code begins. */
static uint32_t line_of_lnotab(const uint8_t *table, size_t size, int64_t line, uint32_t position)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > position)
			break;
		line += (int8_t)table[i + 1];
	}
	return checked(line);
}

/* Pairs of code bytes and the line relative to that of the pair before; -128: no line. */
static uint32_t line_of_pairs(const uint8_t *table, size_t size, int64_t line, uint32_t position)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != -128)
			line += delta;
		if (position < end)
			return delta == -128 ? 0 : checked(line);
	}
	return 0;
}

static uint64_t take_varint(struct cursor *b)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(b);
		if (shift < 60)
			value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int64_t take_signed_varint(struct cursor *b)
{
	uint64_t value = take_varint(b);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum {
	CODE_ONE_LINE0 = 10,
	CODE_ONE_LINE2 = 12,
	CODE_NO_COLUMNS = 13,
	CODE_LONG = 14,
	CODE_NONE = 15
};

/* The line of an entry relative to the entry before; columns are skipped. */
static int64_t take_line_delta(struct cursor *b, unsigned int code)
{
	int64_t delta = 0;

	if (code == CODE_NONE)
		return 0;
	if (code == CODE_LONG) {
		delta = take_signed_varint(b);
		for (int i = 0; i < 3; i++)
			take_varint(b);
	} else if (code == CODE_NO_COLUMNS) {
		delta = take_signed_varint(b);
	} else if (code >= CODE_ONE_LINE0) {
		delta = code - CODE_ONE_LINE0;
		cursor_take(b, 2);
	} else {
		cursor_take(b, 1);
	}
	return delta;
}

static uint32_t line_of_entries(const uint8_t *table, size_t size, int64_t line, uint32_t position)
{
	struct cursor b = { .at = table, .end = table + size };
	uint64_t end = 0;

	while (cursor_left(&b)) {
		uint8_t head = cursor_u8(&b);
		unsigned int code = head >> 3 & 15;

		end += ((head & 7) + 1) * UNIT;
		line += take_line_delta(&b, code);
		if (b.bad)
			break;
		if (position < end)
			return code == CODE_NONE ? 0 : checked(line);
	}
	return 0;
}

uint32_t python_line(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
		     uint32_t position)
{
	if (minor < 10)
		return line_of_lnotab(table, size, first_line, position);
	if (minor == 10)
		return line_of_pairs(table, size, first_line, position);
	return line_of_entries(table, size, first_line, position);
}
