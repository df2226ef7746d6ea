/*
 * A table of figures that is written three ways: aligned text for a terminal, Markdown for a page, and
 * JSON for programs. A cell knows what it is, so every table says a time, a size or a share the same way.
 */
#ifndef SPROF_GRID_H
#define SPROF_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;

struct grid_column {
	const char *key;     /* in JSON; NULL: not there */
	const char *heading; /* in text; NULL: not there */
	bool left;	     /* names stand left, figures right */
};

struct grid_cell;

struct grid {
	const struct grid_column *columns;
	size_t nr_columns;
	struct grid_cell *cells; /* row by row */
	size_t nr_cells, capacity;
	/*
	 * Text that would be wider than max_width goes without these columns, keys and a NULL, one by one; then
	 * its names are cut.
	 */
	const char *const *spare;
	size_t name_width; /* for this much of names columns are left out; 0, as grid_init() sets it: 24 */
	size_t max_width; /* 0, as grid_init() sets it: no limit */
	bool unicode;	  /* may be shown; false, as grid_init() sets it: ASCII */
};

/* The columns must outlive the grid. */
void grid_init(struct grid *g, const struct grid_column *columns, size_t nr);
void grid_fini(struct grid *g);

/* The next cell; a row is full after nr_columns of them. In JSON: */
void grid_text(struct grid *g, const char *s);		     /* a string */
void grid_path(struct grid *g, const char *s, size_t depth); /* the same; indented in text */
void grid_count(struct grid *g, uint64_t n);		     /* a number */
void grid_time(struct grid *g, uint64_t ns);		     /* ns */
void grid_seconds(struct grid *g, uint64_t ns,
		  int decimals); /* ns; text: 1.240, at most 9 of them */
void grid_bytes(struct grid *g, uint64_t bytes);
void grid_signed_bytes(struct grid *g, int64_t bytes);
void grid_share(struct grid *g, uint64_t part, uint64_t whole); /* percent, two decimals */
void grid_rate(struct grid *g, uint64_t bytes, uint64_t ns);	/* bytes per second; 1.24 GB/s */
void grid_per_second(struct grid *g, uint64_t n, uint64_t ns);	/* three decimals */
void grid_value(struct grid *g, enum profile_column column, uint64_t value); /* in its unit */
void grid_estimate(struct grid *g, uint64_t n, uint64_t margin);	     /* a number; 120±21 */
void grid_shape(struct grid *g, const uint64_t shape[3]); /* [x, y, z]; 128x1x1 */
void grid_none(struct grid *g);				  /* null; - */

/* `max_rows` 0 = all; says how many it left out. */
void grid_write_text(struct buffer *b, const struct grid *g, uint32_t max_rows);
void grid_write_markdown(struct buffer *b, const struct grid *g, uint32_t max_rows);
/* An array with one object per row, each on a line of its own. */
void grid_write_json(struct buffer *b, const struct grid *g, uint32_t max_rows);

#endif
