/*
 * How importers begin and end: the file in memory, the lines of a text, and the finished profile.
 */
#ifndef SPROF_INPUT_FILE_H
#define SPROF_INPUT_FILE_H

#include <stdint.h>
#include <stdio.h>

struct buffer;
struct profile;

/* Appends the rest of the file, of 2 GiB at most, to `data`. 0 or -errno, reported with `name`. */
int import_read_all(FILE *f, const char *name, struct buffer *data);

/* The lines of a text in memory, which is changed: a NUL ends each line. */
struct import_lines {
	char *at, *end;
	uint64_t nr_bad; /* lines left out so far: over 1 MiB, or with a NUL in them */
};

/* The text is that of `data` as it is now; it stays in place until the last line was taken. */
struct import_lines import_lines_of(struct buffer *data);
/* The next line without the end of the line; NULL after the last one. */
char *import_next_line(struct import_lines *lines);

/* Fills in what a file of the format `source` did not say of itself, and counts the samples. */
void import_describe(struct profile *p, const char *name, const char *source);

/* Hands the profile over, or frees it if there was an error. Returns `err`. */
int import_end(struct profile *p, int err, struct profile **ret_profile);

#endif
