/*
 * Each format is a list of entries; neighbours with the same line become one run. Malformed tables
 * end early. Sources: CPython's Objects/lnotab_notes.txt (3.8 to 3.10) and Objects/locations.md
 * (3.11 on; InternalDocs/code_objects.md later).
 */
#include "sampler/runtimes/python/line_table.h"

#include <stdbool.h>

#include "core/base/cursor.h"

#define UNIT 2			    /* bytes of a code unit */
#define LINE_MAX ((int64_t)1 << 40) /* no line is so large: the table is malformed */

struct runs {
	struct line_run *at;
	size_t nr, max;
};

static uint32_t checked(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* false: there is no room for it. */
static bool add_run(struct runs *r, uint64_t end, uint32_t line)
{
	uint32_t last = r->nr ? r->at[r->nr - 1].end : 0;

	if (end > UINT32_MAX)
		end = UINT32_MAX;
	if (end <= last)
		return true;
	if (r->nr && r->at[r->nr - 1].line == line) {
		r->at[r->nr - 1].end = (uint32_t)end;
		return true;
	}
	if (r->nr == r->max)
		return false;
	r->at[r->nr++] = (struct line_run){ (uint32_t)end, line };
	return true;
}

/* Pairs of code bytes and signed lines. A pair takes effect where its code begins. */
static void lines_of_lnotab(struct runs *r, const uint8_t *table, size_t size, int64_t line)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (!add_run(r, address, checked(line)))
			return;
		line += (int8_t)table[i + 1];
	}
	add_run(r, UINT32_MAX, checked(line));
}

/* Pairs of code bytes and the line relative to that of the pair before; -128: no line. */
static void lines_of_pairs(struct runs *r, const uint8_t *table, size_t size, int64_t line)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != -128)
			line += delta;
		if (!add_run(r, end, delta == -128 ? 0 : checked(line)))
			return;
	}
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

static void lines_of_entries(struct runs *r, const uint8_t *table, size_t size, int64_t line)
{
	struct cursor b = { .at = table, .end = table + size };
	uint64_t end = 0;

	while (cursor_left(&b)) {
		uint8_t head = cursor_u8(&b);
		unsigned int code = head >> 3 & 15;

		end += ((head & 7) + 1) * UNIT;
		line += take_line_delta(&b, code);
		if (b.bad || line > LINE_MAX || line < -LINE_MAX ||
		    !add_run(r, end, code == CODE_NONE ? 0 : checked(line)))
			return;
	}
}

size_t python_lines(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
		    struct line_run *runs, size_t max)
{
	struct runs r = { .at = runs, .max = max };

	if (minor < 10)
		lines_of_lnotab(&r, table, size, first_line);
	else if (minor == 10)
		lines_of_pairs(&r, table, size, first_line);
	else
		lines_of_entries(&r, table, size, first_line);
	return r.nr;
}

uint32_t python_line(const struct line_run *runs, size_t nr, uint32_t position)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runs[middle].end > position)
			high = middle;
		else
			low = middle + 1;
	}
	return low < nr ? runs[low].line : 0;
}
