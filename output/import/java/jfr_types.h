/*
 * The classes that a chunk of a JFR file describes: which fields an event or a constant has, in
 * which order, and how each is written. A reader skips what it does not know by these, and picks
 * the fields that it wants by name.
 */
#ifndef SPROF_JFR_TYPES_H
#define SPROF_JFR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"
#include "core/base/number_map.h"

struct buffer;

/* The names in the metadata that mean something to the reader. */
enum jfr_word {
	JFR_OTHER,
	/* elements and attributes */
	JFR_METADATA,
	JFR_CLASS,
	JFR_FIELD,
	JFR_ID,
	JFR_NAME,
	JFR_CONSTANT_POOL,
	JFR_DIMENSION,
	/* classes with a form of their own */
	JFR_BOOLEAN,
	JFR_BYTE,
	JFR_CHAR,
	JFR_SHORT,
	JFR_INT,
	JFR_LONG,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING,
	/* classes of constants */
	JFR_STACK_TRACE,
	JFR_METHOD,
	JFR_JAVA_CLASS,
	JFR_SYMBOL,
	JFR_THREAD,
	JFR_FRAME_TYPE,
	/* events */
	JFR_EXECUTION_SAMPLE,
	JFR_NATIVE_SAMPLE,
	JFR_ALLOCATION_SAMPLE,
	JFR_ALLOCATION_NEW_TLAB,
	JFR_ALLOCATION_OUTSIDE_TLAB,
	JFR_JVM_INFORMATION,
	/* fields */
	JFR_TRUNCATED,
	JFR_FRAMES,
	JFR_METHOD_FIELD,
	JFR_LINE_NUMBER,
	JFR_TYPE,
	JFR_STRING_FIELD,
	JFR_DESCRIPTION,
	JFR_OS_NAME,
	JFR_OS_THREAD_ID,
	JFR_JAVA_NAME,
	JFR_START_TIME,
	JFR_EVENT_THREAD,
	JFR_SAMPLED_THREAD,
	JFR_STACK_TRACE_FIELD,
	JFR_WEIGHT,
	JFR_TLAB_SIZE,
	JFR_ALLOCATION_SIZE,
	JFR_PID,
	JFR_JAVA_ARGUMENTS,
	NR_JFR_WORDS
};

/* The word as files spell it. */
const char *jfr_word_name(enum jfr_word word);

struct jfr_field {
	uint64_t class_id;
	uint8_t word;
	bool in_pool, is_array; /* in the pool: the value is the number of a constant */
};

struct jfr_class {
	uint64_t id;
	size_t first_field, nr_fields;
	uint8_t word;
};

struct jfr_types {
	struct jfr_class *classes;
	struct jfr_field *fields;
	size_t nr_classes, classes_capacity, nr_fields, fields_capacity;
	struct number_map by_id; /* id of a class -> its index + 1 */
	uint64_t steps_left;	 /* values, and parts of texts, that may still be read */
};

/* A field to be picked, and what was found in it. */
struct jfr_want {
	enum jfr_word word;
	bool found;
	uint64_t number;	/* of a number, a truth value or a constant */
	struct cursor at;	/* where the value begins */
	struct jfr_field field; /* how it is written */
};

/* LEB128 of at most nine bytes, of which the last one has eight bits. */
uint64_t jfr_number(struct cursor *c);
/*
 * Appends the string as UTF-8 to `text`, which may be NULL. True if the string is a constant
 * instead, of that number.
 */
bool jfr_text(struct cursor *c, struct buffer *text, uint64_t *ret_constant);

/* Reads the body of a metadata event. `max_steps` limits what is read later. 0 or -EINVAL. */
int jfr_types_read(struct jfr_types *t, struct cursor c, uint64_t max_steps);
void jfr_types_fini(struct jfr_types *t);

/* Counts a text of so many bytes as steps. */
void jfr_count_text(struct jfr_types *t, size_t bytes);

/* The class of that id; NULL where the metadata has none. */
const struct jfr_class *jfr_class(struct jfr_types *t, uint64_t id);

/*
 * Moves past an object of the class, and fills in the fields that are wanted. A class that no
 * metadata describes, nesting without end and reading too much leave the cursor bad.
 */
void jfr_read(struct jfr_types *t, struct cursor *c, const struct jfr_class *class,
	      struct jfr_want *wants, size_t nr);

#endif
