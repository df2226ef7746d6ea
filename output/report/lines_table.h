/*
 * The report by line for people: each function with its lines, their self and total time, what kind
 * of code that time ended in, and the source text if it can be read.
 */
#ifndef SPROF_LINES_TABLE_H
#define SPROF_LINES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/report/lines.h"

struct buffer;
struct summary;

struct lines_opts {
	const char *source, *function; /* only functions that match (lines_matches()); NULL = any */
	uint32_t max_functions;	       /* 0 = all */
	size_t columns; /* of the terminal, which source text is cut to; 0 = not cut */
	bool unicode, color;
	bool kernprof; /* the columns that line_profiler prints */
	/* Unix time: a note is printed for source files that were written later */
	uint64_t recorded_ns;
};

/* Returns the number of functions that match, also those that max_functions left out. */
size_t lines_table_write(struct buffer *b, const struct lines *lines, const struct summary *summary,
			 const struct lines_opts *opts);

/* Writes one JSON object: version, column, unit, total, without, functions with their rows. */
size_t lines_json_write(struct buffer *b, const struct lines *lines, const struct summary *summary,
			const struct lines_opts *opts);

#endif
