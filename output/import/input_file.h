/*
 * How importers begin and end: the file in memory, the lines of a text, and the finished profile.
 */
#ifndef SPROF_INPUT_FILE_H
#define SPROF_INPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct buffer;
struct profile;

/* Appends the rest of the file, of 2 GiB at most, to `data`. 0 or -errno, reported with `name`. */
int import_read_all(FILE *f, const char *name, struct buffer *data);

/*
 * Hands the lines of a text in memory to `read_line`, until it says false. The text is changed: a
 * NUL ends each line. Adds to nr_bad the lines left out: over 1 MiB, or with a NUL in them.
 */
void import_lines(struct buffer *text, bool (*read_line)(void *reader, char *line), void *reader,
		  uint64_t *nr_bad);

/* The same with the rest of the file. 0 or -errno, reported with `name`. */
int import_text(FILE *f, const char *name, bool (*read_line)(void *reader, char *line),
		void *reader, uint64_t *nr_bad);

/* Warns of what was left out of the file, if anything was: `what` says what and why. */
void import_left_out(const char *name, const char *what, uint64_t nr);

/* Fills in what a file of the format `source` did not say of itself, and counts the samples. */
void import_describe(struct profile *p, const char *name, const char *source);

/* Hands the profile over, or frees it if there was an error. Returns `err`. */
int import_end(struct profile *p, int err, struct profile **ret_profile);

#endif
