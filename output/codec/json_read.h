/*
 * Reads JSON (RFC 8259) from memory, value by value in the order of the file, without building a
 * tree. After an error every function behaves as if nothing more followed, so callers check
 * json_failed() once, at the end.
 *
 *	json_enter(&j, '{');
 *	while (json_key(&j, &key))
 *		if (key is "weights")
 *			for (json_enter(&j, '['); json_element(&j);) json_number(&j, &x);
 *		else json_skip(&j);
 */
#ifndef SPROF_JSON_READ_H
#define SPROF_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

#define JSON_MAX_DEPTH 256

struct json {
	const char *at, *end;
	bool failed;
	bool first; /* nothing was read yet in the innermost array or object */
	int depth;
};

void json_init(struct json *j, const char *data, size_t size);
bool json_failed(const struct json *j);

/* The next value: '{', '[', '"', '0' for any number, 't', 'f', 'n', or 0 for none of these. */
char json_peek(struct json *j);

/* Enters an object '{' or array '['. False, which is an error, if none is next. */
bool json_enter(struct json *j, char bracket);
/* Reads the next key of the object; false at its end, which it consumes. */
bool json_key(struct json *j, struct buffer *ret_key);
/* Is there another element in the array? False at its end, which it consumes. */
bool json_element(struct json *j);

/* Read a value; an error if a value of another type is next. Invalid UTF-8 is kept as it is. */
bool json_string(struct json *j, struct buffer *ret_string);
bool json_number(struct json *j, double *ret_number);
bool json_bool(struct json *j, bool *ret_bool);
void json_skip(struct json *j);

#endif
