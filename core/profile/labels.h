/*
 * Labels of samples, as pprof has them: "request=/index", "bytes=4096". All labels of a sample are
 * one interned string, so that samples with the same labels share it and a recording holds it once:
 * a line for each label, "KEY=VALUE", in the order of the file. A number is spelled in decimal, and
 * a tab and its unit, which may be empty, follow it.
 */
#ifndef SPROF_LABELS_H
#define SPROF_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;
struct profile_sample;

struct label {
	const char *key, *value, *unit; /* not NUL-terminated; unit is NULL where value is text */
	size_t key_size, value_size, unit_size;
};

/* Appends a label; control characters become blanks. `unit` makes the value a number. */
void labels_add(struct buffer *b, const char *key, const char *value, const char *unit);

/* Takes the next label off the text; false at its end. */
bool labels_next(const char **text, struct label *ret_label);

/*
 * Does the sample have the label "KEY=VALUE"? The keys "thread", "pid" and "tid" are of its thread,
 * as in the pprof files that sprof writes.
 */
bool labels_has(const struct profile *p, const struct profile_sample *s, const char *want);

/* The value of a label with a number; negative numbers as two's complement. */
uint64_t label_number(const struct label *label);

#endif
