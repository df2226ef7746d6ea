/*
 * The form of the table changed with Go 1.16, 1.18 and 1.20; the magic number tells which it is.
 * Numbers that change with the address (file, line, index of the inlined call) are kept as pairs of
 * differences, value and address, and are found by adding from the function's start.
 */
#include "symbolizer/go/pclntab.h"

#include <string.h>

#include "core/base/cursor.h"

#define POINTER_SIZE 8
#define HEADER_START 8	     /* size of magic, padding, quantum and pointer size */
#define PCDATA_INLINE_CALL 2 /* abi.PCDATA_InlTreeIndex */
#define FUNCDATA_CALLS 3     /* abi.FUNCDATA_InlTree */
#define CALL_SIZE 16	     /* of runtime.inlinedCall */
#define NO_OFFSET UINT32_MAX
#define WALK_BUDGET                                                                                \
	(32u << 20) /* steps; a lookup in a function of usual size takes some hundreds */

static bool get(const struct pclntab *t, uint64_t at, size_t size, uint64_t *ret_value)
{
	struct cursor c = cursor_at(t->data, t->size, at);

	*ret_value = cursor_fixed(&c, size);
	return !c.bad;
}

/* Returns the string at an offset of a part; NULL where it is empty or not in the table. */
static const char *string_at(const struct pclntab *t, uint64_t part, uint32_t offset)
{
	uint64_t at = part + offset;

	return at < t->size && t->data[at] ? (const char *)t->data + at : NULL;
}

static bool read_version(const uint8_t *data, enum pclntab_version *ret_version)
{
	static const uint32_t magics[] = {
		[PCLNTAB_GO116] = 0xfffffffa,
		[PCLNTAB_GO118] = 0xfffffff0,
		[PCLNTAB_GO120] = 0xfffffff1,
	};
	uint32_t magic;

	memcpy(&magic, data, sizeof(magic));
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (magic != magics[i])
			continue;
		*ret_version = (enum pclntab_version)i;
		return true;
	}
	return false;
}

/* The size of each of the two numbers of an entry of the table of functions. */
static size_t entry_field_size(const struct pclntab *t)
{
	return t->version == PCLNTAB_GO116 ? POINTER_SIZE : sizeof(uint32_t);
}

bool pclntab_open(const uint8_t *data, uint64_t size, struct pclntab *ret_table)
{
	struct pclntab t = { .data = data, .size = size, .budget = WALK_BUDGET };
	struct cursor c = cursor_at(data, size, 0);
	uint64_t *parts[] = { &t.names, &t.units, &t.files, &t.values, &t.functions };
	const uint8_t *start = cursor_take(&c, HEADER_START);

	if (!start || start[4] || start[5] || start[7] != POINTER_SIZE ||
	    !read_version(start, &t.version))
		return false;
	t.quantum = start[6];
	if (t.quantum != 1 && t.quantum != 2 && t.quantum != 4)
		return false;
	t.nr_functions = cursor_u64(&c);
	cursor_skip(&c, POINTER_SIZE); /* the number of files */
	if (t.version != PCLNTAB_GO116)
		t.header_text = cursor_u64(&c);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		*parts[i] = cursor_u64(&c);
		if (*parts[i] >= size)
			return false;
	}
	if (c.bad || !t.nr_functions ||
	    t.nr_functions >= (size - t.functions) / (2 * entry_field_size(&t)))
		return false;
	*ret_table = t;
	return true;
}

/* Returns where function `index` starts; the function behind the last is where the last ends. */
static uint64_t start_of(const struct pclntab *t, uint64_t index)
{
	size_t field = entry_field_size(t);
	uint64_t value;

	if (!get(t, t->functions + index * 2 * field, field, &value))
		return 0;
	return t->version == PCLNTAB_GO116 ? value : t->text + value;
}

/*
 * Reads a number of 4 bytes of a function's description, where every number but the first, the
 * address, has 4 bytes.
 */
static bool get_field(const struct pclntab *t, uint64_t at, unsigned int index, uint32_t *ret_value)
{
	uint64_t value;

	at += (t->version == PCLNTAB_GO116 ? POINTER_SIZE : sizeof(uint32_t)) +
	      (index - 1) * sizeof(uint32_t);
	if (!get(t, at, sizeof(uint32_t), &value))
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

enum field {
	FIELD_NAME = 1,
	FIELD_FILES = 5,
	FIELD_LINES = 6,
	FIELD_NR_PCDATA = 7,
	FIELD_UNIT = 8,
	FIELD_DECLARED_LINE = 9, /* since Go 1.20 */
};

bool pclntab_find(const struct pclntab *t, uint64_t address, struct pclntab_function *ret)
{
	uint64_t lo = 0, hi = t->nr_functions, offset;
	size_t field = entry_field_size(t);
	struct pclntab_function f = { 0 };
	uint32_t name;

	if (address < start_of(t, 0) || address >= start_of(t, t->nr_functions))
		return false;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (start_of(t, mid) <= address)
			lo = mid;
		else
			hi = mid;
	}
	f.start = start_of(t, lo);
	f.end = start_of(t, lo + 1);
	if (address < f.start || address >= f.end ||
	    !get(t, t->functions + (lo * 2 + 1) * field, field, &offset) || offset >= t->size)
		return false;
	f.at = t->functions + offset;
	if (!get_field(t, f.at, FIELD_NAME, &name))
		return false;
	f.name = string_at(t, t->names, name);
	if (t->version >= PCLNTAB_GO120)
		get_field(t, f.at, FIELD_DECLARED_LINE, &f.line);
	*ret = f;
	return f.name;
}

/*
 * Finds the value of the address in the table of values at `offset`; -1 where it has none there.
 */
static int32_t value_at(struct pclntab *t, const struct pclntab_function *f, uint32_t offset,
			uint64_t address)
{
	struct cursor c = cursor_at(t->data, t->size, t->values + offset);
	uint64_t pc = f->start;
	uint32_t value = UINT32_MAX;

	for (bool first = true; t->budget && !c.bad; first = false, t->budget--) {
		uint32_t delta = (uint32_t)cursor_uleb(&c);

		if (!delta && !first)
			break;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		pc += (uint64_t)(uint32_t)cursor_uleb(&c) * t->quantum;
		if (address < pc)
			return c.bad ? -1 : (int32_t)value;
	}
	return -1;
}

/* Returns the name of a file by its number in the function's compilation unit, or NULL. */
static const char *file_name(const struct pclntab *t, const struct pclntab_function *f,
			     int32_t number)
{
	uint32_t unit;
	uint64_t offset;

	if (number < 0 || !get_field(t, f->at, FIELD_UNIT, &unit) || unit == NO_OFFSET ||
	    !get(t, t->units + ((uint64_t)unit + (uint32_t)number) * sizeof(uint32_t),
		 sizeof(uint32_t), &offset) ||
	    offset == NO_OFFSET)
		return NULL;
	return string_at(t, t->files, (uint32_t)offset);
}

bool pclntab_position(struct pclntab *t, const struct pclntab_function *f, uint64_t address,
		      const char **ret_file, uint32_t *ret_line)
{
	uint32_t files, lines;
	const char *file;
	int32_t line;

	if (!get_field(t, f->at, FIELD_FILES, &files) ||
	    !get_field(t, f->at, FIELD_LINES, &lines) || !files || !lines)
		return false;
	file = file_name(t, f, value_at(t, f, files, address));
	line = value_at(t, f, lines, address);
	if (!file || line <= 0)
		return false;
	*ret_file = file;
	*ret_line = (uint32_t)line;
	return true;
}

/* Returns where the lists of a description begin, behind its numbers. */
static uint64_t lists_of(const struct pclntab *t, const struct pclntab_function *f)
{
	/* the address, 8 or 9 numbers, and 4 bytes, the last of which counts the second list */
	static const uint64_t sizes[] = {
		[PCLNTAB_GO116] = 8 + 8 * 4 + 4,
		[PCLNTAB_GO118] = 4 + 8 * 4 + 4,
		[PCLNTAB_GO120] = 4 + 9 * 4 + 4,
	};

	return f->at + sizes[t->version];
}

/* Returns the number of the innermost inlined call; -1 where the code is the function's own. */
static int32_t call_number(struct pclntab *t, const struct pclntab_function *f, uint64_t address)
{
	uint64_t offset;
	uint32_t nr;

	if (!get_field(t, f->at, FIELD_NR_PCDATA, &nr) || nr <= PCDATA_INLINE_CALL ||
	    !get(t, lists_of(t, f) + PCDATA_INLINE_CALL * sizeof(uint32_t), sizeof(uint32_t),
		 &offset) ||
	    !offset)
		return -1;
	return value_at(t, f, (uint32_t)offset, address);
}

bool pclntab_is_inlined(struct pclntab *t, const struct pclntab_function *f, uint64_t address)
{
	return call_number(t, f, address) >= 0;
}

/* Finds where the function's inlined calls begin in t->calls. */
static bool find_calls(const struct pclntab *t, const struct pclntab_function *f,
		       uint64_t *ret_offset)
{
	uint64_t lists = lists_of(t, f), nr_funcdata;
	uint32_t nr_pcdata;

	return t->version >= PCLNTAB_GO120 && t->calls && get(t, lists - 1, 1, &nr_funcdata) &&
	       nr_funcdata > FUNCDATA_CALLS && get_field(t, f->at, FIELD_NR_PCDATA, &nr_pcdata) &&
	       get(t, lists + ((uint64_t)nr_pcdata + FUNCDATA_CALLS) * sizeof(uint32_t),
		   sizeof(uint32_t), ret_offset) &&
	       *ret_offset != NO_OFFSET;
}

bool pclntab_inlined_call(struct pclntab *t, const struct pclntab_function *f, uint64_t address,
			  struct pclntab_call *ret)
{
	int32_t number = call_number(t, f, address);
	struct pclntab_call call;
	struct cursor c;
	uint64_t offset;
	uint32_t name, caller;

	if (number < 0 || !find_calls(t, f, &offset))
		return false;
	c = cursor_at(t->calls, t->calls_size, offset + (uint64_t)number * CALL_SIZE);
	cursor_skip(&c, 4); /* what kind of function of the runtime it is */
	name = cursor_u32(&c);
	caller = cursor_u32(&c);
	call.line = cursor_u32(&c);
	call.caller_pc = f->start + caller;
	call.name = string_at(t, t->names, name);
	if (c.bad || !call.name || call.caller_pc >= f->end)
		return false;
	*ret = call;
	return true;
}
