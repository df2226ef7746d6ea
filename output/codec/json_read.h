/*
 * Reads JSON (RFC 8259) from memory, value by value, in the order of the file; nothing is kept. After an
 * error every function says that nothing more is there: callers look at json_failed() once, at the end.
 *
 *	json_enter(&j, '{');
 *	while (json_key(&j, &key))
 *		if (is "weights") { json_enter(&j, '['); while (json_element(&j)) json_number(&j, &x); }
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

/* What comes next: '{', '[', '"', '0' for a number, 't', 'f', 'n', or 0 for none of these. */
char json_peek(struct json *j);

/* Steps into an object '{' or an array '['; false, and a failure, where none is next. */
bool json_enter(struct json *j, char bracket);
/* The next key of the object; false at its end, which is stepped over. */
bool json_key(struct json *j, struct buffer *ret_key);
/* Is there another element in the array? false at its end, which is stepped over. */
bool json_element(struct json *j);

/* Values. A failure where another sort of value is next. Bytes that are no UTF-8 are left as they are. */
bool json_string(struct json *j, struct buffer *ret_string);
bool json_number(struct json *j, double *ret_number);
bool json_bool(struct json *j, bool *ret_bool);
void json_skip(struct json *j);

#endif
