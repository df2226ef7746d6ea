/*
 * The diff for people: what changed most, with its margin of error. Also the diff for programs, as
 * one JSON object that docs/diff-json.md describes.
 */
#ifndef SPROF_DIFF_TABLE_H
#define SPROF_DIFF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/report/diff_text.h"

struct buffer;

struct diff_table_opts {
	enum diff_key key;
	uint32_t max_rows; /* 0 = all, also changes within the error */
	size_t columns;	   /* of the terminal, which names are cut to; 0 = never cut */
	bool unicode;
	bool color; /* terminal escapes */
};

/* `rows` are those of diff_rank(). */
void diff_table_write(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
		      uint32_t nr_rows, const struct diff_table_opts *opts);

/* max_rows 0 = all */
void diff_json_write(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
		     uint32_t nr_rows, uint32_t max_rows);

#endif
