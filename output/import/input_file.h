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

/* The next line without the end of the line; NULL after the last one. */
char *import_next_line(struct import_lines *lines);

/*
 * Reads the rest of the file as text into the profile `p`: has `read` take its lines, and judge and
 * describe what they made. 0 with the profile, which is the caller's then, or -errno, reported;
 * then the profile is freed.
 */
int import_text(FILE *f, const char *name, struct profile *p,
		int (*read)(void *reader, struct import_lines *lines), void *reader,
		struct profile **ret_profile);

/* Fills in what a file of the format `source` did not say of itself, and counts the samples. */
void import_describe(struct profile *p, const char *name, const char *source);

/* Hands the profile over, or frees it if there was an error. Returns `err`. */
int import_end(struct profile *p, int err, struct profile **ret_profile);

#endif
