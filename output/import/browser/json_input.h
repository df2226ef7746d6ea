/*
 * What the readers of JSON share: the file in memory, a cursor in it, and values of the
 * types that they read, where a value of another type is skipped.
 */
#ifndef SPROF_JSON_INPUT_H
#define SPROF_JSON_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "output/codec/json_read.h"

struct profile;

struct json_input {
	struct json json;
	struct buffer data, key, text;
	struct profile *p;
	const char *name;    /* of the file */
	const char *problem; /* an error other than of syntax; NULL: there is none */
	bool may_be_empty;   /* a file without samples is a profile too */
};

/* Numbers of an array; null and values of other types are NAN. */
struct json_numbers {
	double *list;
	size_t nr, capacity;
};

/* 0, and then the cursor is at the beginning, or -errno, reported. */
int json_input_init(struct json_input *in, FILE *f, const char *name);
/* 0 with the profile, which is the caller's then, or -EINVAL, reported; frees the rest. */
int json_input_finish(struct json_input *in, const char *format, struct profile **ret_profile);

/* Goes back to the beginning of the file. */
void json_input_rewind(struct json_input *in);

/* Enters the object '{' or array '[' that is next. False, after skipping it, for another value. */
bool json_input_enter(struct json_input *in, char bracket);
/* Reads the next key of the object; false at its end, which it consumes. */
bool json_input_key(struct json_input *in);
/* Is this the key that was read last? */
bool json_input_is(const struct json_input *in, const char *key);

/* The string that is next, interned; 0, "", for a value of another type. */
uint32_t json_input_string(struct json_input *in);
/* The whole number below 2^32 that is next; 0 for any other value. */
uint32_t json_input_u32(struct json_input *in);
/* The number that is next; `otherwise` for a value of another type. */
double json_input_number(struct json_input *in, double otherwise);
void json_input_numbers(struct json_input *in, struct json_numbers *ret_numbers);
void json_numbers_fini(struct json_numbers *n);

/* numbers[at] as an index below `limit`; SIZE_MAX if it is not one. */
size_t json_numbers_index(const struct json_numbers *n, size_t at, size_t limit);

/* A number as an unsigned one; 0 where it is negative or too large. */
uint32_t json_u32(double number);

/* Does the head of a file begin with this bracket, after blanks? */
bool json_input_begins(const char *data, size_t size, char bracket);

#endif
