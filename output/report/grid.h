/*
 * A table of figures that can be written in three ways: as aligned text for a terminal, as Markdown
 * for a page, and as JSON for programs. A cell knows what kind of figure it is, so every table
 * prints a time, a size or a share in the same way.
 */
#ifndef SPROF_GRID_H
#define SPROF_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;

struct grid_column {
	const char *key;     /* in JSON; NULL: not in JSON */
	const char *heading; /* in text; NULL: not in text */
	bool left;	     /* names are aligned left, figures right */
};

struct grid_cell;

struct grid {
	const struct grid_column *columns;
	size_t nr_columns;
	struct grid_cell *cells; /* row by row */
	size_t nr_cells, capacity;
	/*
	 * If the text is wider than max_width, these columns (keys, ended by NULL) are left out one
	 * by one; then the names are cut.
	 */
	const char *const *spare;
	const char *not_in_text; /* the key of a column that only JSON has here; NULL: none */
	size_t name_width;	 /* columns are left out until names have this width; 0: 24 */
	size_t max_width;	 /* 0: no limit */
	bool unicode;		 /* false: ASCII */
};

/* The columns must outlive the grid. */
void grid_init(struct grid *g, const struct grid_column *columns, size_t nr);
void grid_fini(struct grid *g);

/* Each adds the next cell; a row is full after nr_columns of them. As JSON (and text): */
void grid_text(struct grid *g, const char *s);		     /* a string */
void grid_path(struct grid *g, const char *s, size_t depth); /* the same; indented in text */
void grid_count(struct grid *g, uint64_t n);		     /* a number */
void grid_time(struct grid *g, uint64_t ns);		     /* ns */
void grid_seconds(struct grid *g, uint64_t ns,
		  int decimals); /* ns; text 1.240 with at most 9 decimals */
void grid_bytes(struct grid *g, uint64_t bytes);
void grid_signed_bytes(struct grid *g, int64_t bytes);
void grid_share(struct grid *g, uint64_t part, uint64_t whole); /* percent, two decimals */
void grid_rate(struct grid *g, uint64_t bytes, uint64_t ns);	/* bytes per second; 1.24 GB/s */
void grid_per_second(struct grid *g, uint64_t n, uint64_t ns);	/* three decimals */
void grid_value(struct grid *g, enum profile_column column, uint64_t value); /* in its unit */
void grid_estimate(struct grid *g, uint64_t n, uint64_t margin);	     /* a number; 120±21 */
void grid_shape(struct grid *g, const uint64_t shape[3]); /* [x, y, z]; 128x1x1 */
void grid_none(struct grid *g);				  /* null; - */

/* `max_rows` 0 = all; a last line says how many rows were left out. */
void grid_write_text(struct buffer *b, const struct grid *g, uint32_t max_rows);
void grid_write_markdown(struct buffer *b, const struct grid *g, uint32_t max_rows);
/* Writes an array with one object per row, each on a line of its own. */
void grid_write_json(struct buffer *b, const struct grid *g, uint32_t max_rows);

#endif
