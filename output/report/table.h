/*
 * The report for people: a head that says how far the numbers can be trusted, then the functions
 * with their self and total time, as numbers and as bars on one scale.
 */
#ifndef SPROF_TABLE_H
#define SPROF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/tree/ranking.h"

struct buffer;
struct summary;

struct table_opts {
	enum ranking_key key;
	uint32_t max_rows;	       /* 0 = all */
	size_t columns;		       /* of the terminal, which names are cut to; 0 = never cut */
	bool unicode;		       /* block characters, else ASCII */
	bool color;		       /* terminal escapes */
	const char *heading;	       /* of the names: "Function", ... */
	const char *singular, *plural; /* "function", "functions" */
};

/*
 * Appends the lines above a table: what was recorded, how, and how far the numbers can be trusted.
 */
void table_add_head(struct buffer *b, const struct summary *summary);

/* table_write() without these lines. */
void table_add_rows(struct buffer *b, const struct tree *tree, const struct summary *summary,
		    const struct table_opts *opts);

void table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 const struct table_opts *opts);

#endif
