/*
 * What the record of a Python code object says, in a form that takes no interpretation: its names
 * as UTF-8 and its lines as runs. A child without rights decodes records (code_reader.h); the
 * recorder checks the form of what it answers.
 */
#ifndef SPROF_CODE_DECODE_H
#define SPROF_CODE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/pycode.h"

struct buffer;
struct code_string;
struct line_run;

/* UTF-8 takes two bytes for one of Latin-1, and fewer for wider ones; and the mark of a cut. */
#define CODE_TEXT_MAX (2 * CODE_NAME_SIZE + 3)
#define CODE_RUNS_MAX 8192u /* of a code object; further lines are left out */

struct decoded_code {
	char *name, *file; /* not NUL-terminated */
	struct line_run *runs;
	uint32_t name_size, file_size, nr_runs;
};

#define DECODED_MAX (16 + 2 * CODE_TEXT_MAX + 8 * CODE_RUNS_MAX)

/* Appends the answer about a record; `size` includes the line table that follows it. */
void code_decode(const struct code_record *code, size_t size, struct buffer *to);

/*
 * Takes over the answer at the beginning of `size` bytes. Returns its size; 0: it makes no sense.
 * The result is to be freed with decoded_code_fini().
 */
size_t decoded_code_take(const void *answer, size_t size, struct decoded_code *ret);
void decoded_code_fini(struct decoded_code *code);

/* Adds a string of the target as UTF-8; "[unknown]" for one that could not be read. */
void code_string_add_text(struct buffer *b, const struct code_string *s);

#endif
