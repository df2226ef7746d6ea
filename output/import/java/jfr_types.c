/*
 * Reads the metadata, and values by it. The metadata is a tree of elements with attributes, all of
 * them strings by number; only the elements root > metadata > class > field matter. Classes can
 * contain one another, so a damaged file could describe an object of no bytes with fields without
 * end, and every constant may refer to one string of megabytes: steps are counted.
 */
#include "output/import/java/jfr_types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/codec/utf8.h"

enum { MAX_ELEMENTS = 32, MAX_NESTING = 16, BYTES_PER_STEP = 4 };

static const char *const words[NR_JFR_WORDS] = {
	[JFR_METADATA] = "metadata",
	[JFR_CLASS] = "class",
	[JFR_FIELD] = "field",
	[JFR_ID] = "id",
	[JFR_NAME] = "name",
	[JFR_CONSTANT_POOL] = "constantPool",
	[JFR_DIMENSION] = "dimension",
	[JFR_BOOLEAN] = "boolean",
	[JFR_BYTE] = "byte",
	[JFR_CHAR] = "char",
	[JFR_SHORT] = "short",
	[JFR_INT] = "int",
	[JFR_LONG] = "long",
	[JFR_FLOAT] = "float",
	[JFR_DOUBLE] = "double",
	[JFR_STRING] = "java.lang.String",
	[JFR_STACK_TRACE] = "jdk.types.StackTrace",
	[JFR_METHOD] = "jdk.types.Method",
	[JFR_JAVA_CLASS] = "java.lang.Class",
	[JFR_SYMBOL] = "jdk.types.Symbol",
	[JFR_THREAD] = "java.lang.Thread",
	[JFR_FRAME_TYPE] = "jdk.types.FrameType",
	[JFR_EXECUTION_SAMPLE] = "jdk.ExecutionSample",
	[JFR_NATIVE_SAMPLE] = "jdk.NativeMethodSample",
	[JFR_ALLOCATION_SAMPLE] = "jdk.ObjectAllocationSample",
	[JFR_ALLOCATION_NEW_TLAB] = "jdk.ObjectAllocationInNewTLAB",
	[JFR_ALLOCATION_OUTSIDE_TLAB] = "jdk.ObjectAllocationOutsideTLAB",
	[JFR_JVM_INFORMATION] = "jdk.JVMInformation",
	[JFR_TRUNCATED] = "truncated",
	[JFR_FRAMES] = "frames",
	[JFR_METHOD_FIELD] = "method",
	[JFR_LINE_NUMBER] = "lineNumber",
	[JFR_TYPE] = "type",
	[JFR_STRING_FIELD] = "string",
	[JFR_DESCRIPTION] = "description",
	[JFR_OS_NAME] = "osName",
	[JFR_OS_THREAD_ID] = "osThreadId",
	[JFR_JAVA_NAME] = "javaName",
	[JFR_START_TIME] = "startTime",
	[JFR_EVENT_THREAD] = "eventThread",
	[JFR_SAMPLED_THREAD] = "sampledThread",
	[JFR_STACK_TRACE_FIELD] = "stackTrace",
	[JFR_WEIGHT] = "weight",
	[JFR_TLAB_SIZE] = "tlabSize",
	[JFR_ALLOCATION_SIZE] = "allocationSize",
	[JFR_PID] = "pid",
	[JFR_JAVA_ARGUMENTS] = "javaArguments",
};

const char *jfr_word_name(enum jfr_word word)
{
	return words[word];
}

static enum jfr_word find_word(const char *s)
{
	for (int i = JFR_OTHER + 1; i < NR_JFR_WORDS; i++)
		if (!strcmp(words[i], s))
			return (enum jfr_word)i;
	return JFR_OTHER;
}

uint64_t jfr_number(struct cursor *c)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 56; shift += 7) {
		byte = cursor_u8(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	return value | (uint64_t)cursor_u8(c) << 56;
}

static void add_code_point(struct buffer *text, uint32_t c)
{
	char s[4];
	size_t n = 0;

	if (!text)
		return;
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x80) {
		s[n++] = (char)c;
	} else if (c < 0x800) {
		s[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		s[n++] = (char)(0xe0 | c >> 12);
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		s[n++] = (char)(0xf0 | c >> 18);
		s[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		s[n++] = (char)(0x80 | (c & 0x3f));
	buffer_add(text, s, n);
}

/* UTF-16: one number for each unit. */
static void add_chars(struct buffer *text, struct cursor *c, uint64_t nr)
{
	uint32_t high = 0; /* the first half of a pair; 0 = none */

	for (; nr && !c->bad; nr--) {
		uint32_t unit = (uint32_t)jfr_number(c) & 0xffff;

		if (high && unit >= 0xdc00 && unit < 0xe000) {
			unit = 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
			high = 0;
		} else if (high) {
			add_code_point(text, high);
			high = 0;
		}
		if (unit >= 0xd800 && unit < 0xdc00)
			high = unit;
		else
			add_code_point(text, unit);
	}
	if (high)
		add_code_point(text, high);
}

bool jfr_text(struct cursor *c, struct buffer *text, uint64_t *ret_constant)
{
	enum { ABSENT, EMPTY, CONSTANT, UTF8, CHARS, LATIN1 };
	uint8_t form = cursor_u8(c);
	const uint8_t *bytes;
	uint64_t size;

	if (form == CONSTANT) {
		*ret_constant = jfr_number(c);
		return !c->bad;
	}
	if (form == ABSENT || form == EMPTY || form > LATIN1) {
		c->bad |= form > LATIN1;
		return false;
	}
	size = jfr_number(c);
	if (form == CHARS) {
		add_chars(text, c, size);
		return false;
	}
	bytes = cursor_take(c, size);
	if (bytes && text && form == UTF8)
		utf8_add_repaired(text, (const char *)bytes, size);
	for (uint64_t i = 0; bytes && text && form == LATIN1 && i < size; i++)
		add_code_point(text, bytes[i]);
	return false;
}

struct metadata {
	struct jfr_types *types;
	struct buffer text; /* the strings, each with a NUL */
	size_t *strings;    /* where each begins in it */
	size_t nr_strings, capacity;
};

static const char *string_at(const struct metadata *m, uint64_t i)
{
	return i < m->nr_strings ? m->text.data + m->strings[i] : "";
}

static void read_strings(struct metadata *m, struct cursor *c)
{
	uint64_t nr = jfr_number(c), constant;

	for (; nr && !c->bad; nr--) {
		m->strings =
			xgrow(m->strings, &m->capacity, m->nr_strings + 1, sizeof(*m->strings));
		m->strings[m->nr_strings++] = m->text.size;
		jfr_text(c, &m->text, &constant);
		buffer_add_char(&m->text, '\0');
	}
}

/* The attributes of an element. */
struct attributes {
	enum jfr_word name;
	uint64_t id, class_id;
	bool in_pool, is_array;
};

/* A value may be a string of megabytes that many attributes have: no number is that long. */
static uint64_t number_of(const char *value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%.31s", value);
	return strtoull(digits, NULL, 10);
}

static void read_attributes(struct metadata *m, struct cursor *c, struct attributes *a)
{
	for (uint64_t nr = jfr_number(c); nr && !c->bad; nr--) {
		enum jfr_word key = find_word(string_at(m, jfr_number(c)));
		const char *value = string_at(m, jfr_number(c));

		switch (key) {
		case JFR_NAME: a->name = find_word(value); break;
		case JFR_ID: a->id = number_of(value); break;
		case JFR_CLASS: a->class_id = number_of(value); break;
		case JFR_CONSTANT_POOL: a->in_pool = !strcmp(value, "true"); break;
		case JFR_DIMENSION: a->is_array = *value && strcmp(value, "0"); break;
		default: break;
		}
	}
}

static void add_class(struct jfr_types *t, const struct attributes *a)
{
	bool is_new;

	t->classes =
		xgrow(t->classes, &t->classes_capacity, t->nr_classes + 1, sizeof(*t->classes));
	t->classes[t->nr_classes++] = (struct jfr_class){ .id = a->id,
							  .first_field = t->nr_fields,
							  .word = (uint8_t)a->name };
	*number_map_at(&t->by_id, a->id, &is_new) = (uint32_t)t->nr_classes;
}

static void add_field(struct jfr_types *t, const struct attributes *a)
{
	t->fields = xgrow(t->fields, &t->fields_capacity, t->nr_fields + 1, sizeof(*t->fields));
	t->fields[t->nr_fields++] = (struct jfr_field){ .class_id = a->class_id,
							.word = (uint8_t)a->name,
							.in_pool = a->in_pool,
							.is_array = a->is_array };
	t->classes[t->nr_classes - 1].nr_fields++;
}

/* Every element takes three bytes at least, so the recursion is bounded in breadth too. */
static void read_element(struct metadata *m, struct cursor *c, enum jfr_word parent, int depth)
{
	enum jfr_word word = find_word(string_at(m, jfr_number(c)));
	struct attributes a = { 0 };

	read_attributes(m, c, &a);
	if (word == JFR_CLASS && parent == JFR_METADATA)
		add_class(m->types, &a);
	else if (word == JFR_FIELD && parent == JFR_CLASS)
		add_field(m->types, &a);
	else if (word == JFR_CLASS || word == JFR_FIELD)
		word = JFR_OTHER; /* at a place where it means nothing */
	for (uint64_t nr = jfr_number(c); nr && !c->bad; nr--) {
		if (depth == MAX_ELEMENTS)
			c->bad = true;
		else
			read_element(m, c, word, depth + 1);
	}
}

int jfr_types_read(struct jfr_types *t, struct cursor c, uint64_t max_steps)
{
	struct metadata m = { .types = t };

	*t = (struct jfr_types){ .steps_left = max_steps };
	for (int i = 0; i < 3; i++)
		jfr_number(&c); /* the time, the duration, the number of the metadata */
	read_strings(&m, &c);
	read_element(&m, &c, JFR_OTHER, 0);
	buffer_fini(&m.text);
	free(m.strings);
	return c.bad ? -EINVAL : 0;
}

void jfr_types_fini(struct jfr_types *t)
{
	free(t->classes);
	free(t->fields);
	number_map_fini(&t->by_id);
	*t = (struct jfr_types){ 0 };
}

const struct jfr_class *jfr_class(struct jfr_types *t, uint64_t id)
{
	bool is_new;
	uint32_t index = *number_map_at(&t->by_id, id, &is_new);

	return index ? &t->classes[index - 1] : NULL;
}

void jfr_count_text(struct jfr_types *t, size_t bytes)
{
	uint64_t steps = bytes / BYTES_PER_STEP;

	t->steps_left -= steps < t->steps_left ? steps : t->steps_left;
}

static uint64_t read_object(struct jfr_types *t, struct cursor *c, const struct jfr_class *class,
			    int depth);

/* Moves past a value that is not an array; the number that it is, if it is one. */
static uint64_t read_value(struct jfr_types *t, struct cursor *c, const struct jfr_field *f,
			   int depth)
{
	if (!t->steps_left || c->bad) {
		c->bad = true;
		return 0;
	}
	t->steps_left--;
	return f->in_pool ? jfr_number(c) : read_object(t, c, jfr_class(t, f->class_id), depth);
}

static uint64_t read_field(struct jfr_types *t, struct cursor *c, const struct jfr_field *f,
			   int depth)
{
	uint64_t nr;

	if (!f->is_array)
		return read_value(t, c, f, depth);
	for (nr = jfr_number(c); nr && !c->bad; nr--)
		read_value(t, c, f, depth);
	return 0;
}

static uint64_t read_object(struct jfr_types *t, struct cursor *c, const struct jfr_class *class,
			    int depth)
{
	const uint8_t *start = c->at;
	uint64_t constant;

	if (!class || depth == MAX_NESTING) {
		c->bad = true;
		return 0;
	}
	switch (class->word) {
	case JFR_BOOLEAN:
	case JFR_BYTE: return cursor_u8(c);
	case JFR_CHAR:
	case JFR_SHORT:
	case JFR_INT:
	case JFR_LONG: return jfr_number(c);
	case JFR_FLOAT: cursor_skip(c, 4); return 0;
	case JFR_DOUBLE: cursor_skip(c, 8); return 0;
	case JFR_STRING:
		jfr_text(c, NULL, &constant);
		jfr_count_text(t, (size_t)(c->at - start));
		return 0;
	default: break;
	}
	for (size_t i = 0; i < class->nr_fields && !c->bad; i++)
		read_field(t, c, &t->fields[class->first_field + i], depth + 1);
	return 0;
}

void jfr_read(struct jfr_types *t, struct cursor *c, const struct jfr_class *class,
	      struct jfr_want *wants, size_t nr)
{
	if (!nr || class->word == JFR_STRING) {
		read_object(t, c, class, 0);
		return;
	}
	for (size_t i = 0; i < class->nr_fields && !c->bad; i++) {
		const struct jfr_field *f = &t->fields[class->first_field + i];
		struct cursor at = *c;
		uint64_t number = read_field(t, c, f, 1);

		for (size_t j = 0; j < nr && f->word; j++)
			if (wants[j].word == f->word && !c->bad)
				wants[j] = (struct jfr_want){ f->word, true, number, at, *f };
	}
}
