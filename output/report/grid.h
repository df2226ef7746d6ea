/*
 * The table behind every report: written as aligned text for a terminal, as Markdown for a page, or
 * as JSON for programs. A cell knows what kind of figure it is, so every table prints a time, a
 * size or a share in the same way; and every table fits a narrow terminal in the same way.
 */
#ifndef SPROF_GRID_H
#define SPROF_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/profile/profile.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a))) /* of columns, and of what fills them */

struct grid_column {
	const char *key; /* in JSON and in `spare`; NULL: not in JSON */
	/* in text; NULL: not in text; where all are "" the text has no line of headings */
	const char *heading;
	bool left; /* names are aligned left, figures right */
};

enum { GRID_CUT_AT_END = NR_FUNCTION_KINDS }; /* how a text is cut that is no name */

/* For grid.c and grid_write.c. */
struct grid_cell {
	size_t text, json; /* where they begin; they end where those of the next cell begin */
	uint32_t prefix;   /* bytes of the text: the indentation and its mark */
	uint8_t kind;	   /* enum function_kind: how a name is cut; or GRID_CUT_AT_END */
	const char *style; /* NULL: none */
};

struct grid {
	const struct grid_column *columns;
	size_t nr_columns;
	struct grid_cell *cells;  /* row by row */
	struct buffer text, json; /* of all cells, one after the other */
	size_t nr_cells, capacity;
	/*
	 * If the text is wider than max_width, names that are not the widest are cut to 24 columns;
	 * then these columns (keys, ended by NULL) are left out one by one, and at last the widest
	 * names are cut. The key "" stands for one of the two spaces between columns.
	 */
	const char *const *spare;
	const char *not_in_text; /* the key of a column that only JSON has here; NULL: none */
	size_t name_width;	 /* columns are left out until names have this width; 0: 24 */
	size_t max_width;	 /* 0: no limit */
	size_t indent;		 /* spaces before each line of the text */
	/* the last column holds sentences: they go on in the next line, and nothing is cut */
	bool folds;
	bool unicode; /* false: ASCII */
	bool color;   /* styles are written as escapes of the terminal */
};

/* The columns must outlive the grid. */
void grid_init(struct grid *g, const struct grid_column *columns, size_t nr);
void grid_fini(struct grid *g);

/*
 * Each adds the next cell; a row is full after nr_columns of them. A column whose cells are all
 * empty is not in the text. The comments say what a cell is in JSON, and then an example of text.
 */
void grid_text(struct grid *g, const char *s);		     /* a string */
void grid_path(struct grid *g, const char *s, size_t depth); /* the same; indented in text */
/*
 * The name of a function of that kind (enum function_kind), which is cut as such; `indent` columns
 * stand before it, the last of which are `mark`. In a narrow terminal it is indented less.
 */
void grid_name(struct grid *g, const char *s, uint8_t kind, size_t indent, const char *mark);
void grid_count(struct grid *g, uint64_t n); /* a number */
void grid_time(struct grid *g, uint64_t ns); /* ns */
void grid_seconds(struct grid *g, uint64_t ns,
		  int decimals); /* ns; text 1.240 with at most 9 decimals */
void grid_bytes(struct grid *g, uint64_t bytes);
void grid_signed_bytes(struct grid *g, int64_t bytes);
void grid_share(struct grid *g, uint64_t part, uint64_t whole); /* percent, two decimals */
void grid_rate(struct grid *g, uint64_t bytes, uint64_t ns);	/* bytes per second; 1.24 GB/s */
void grid_per_second(struct grid *g, uint64_t n, uint64_t ns);	/* three decimals */
void grid_operations(struct grid *g, unsigned __int128 n);	/* a number; 1.24 TFLOP */
void grid_operations_rate(struct grid *g, double per_s); /* a number; 1.24 TFLOP/s; 0: none */
void grid_value(struct grid *g, enum profile_column column, uint64_t value); /* in its unit */
void grid_estimate(struct grid *g, uint64_t n, uint64_t margin);	     /* a number; 120±21 */
void grid_shape(struct grid *g, const uint64_t shape[3]); /* [x, y, z]; 128x1x1 */
void grid_none(struct grid *g);				  /* null; - */
/* null; the clean text that the caller appends, which is cut at its end */
struct buffer *grid_cell(struct grid *g);
/* grid_cell() for the last cell of the row; the cells before it stay empty. */
struct buffer *grid_last_cell(struct grid *g);

/* The colour of the last cell, or of the last row: an escape of the terminal, "\033[1m". */
void grid_style(struct grid *g, const char *style);
void grid_style_row(struct grid *g, const char *style);

/* `max_rows` 0 = all; a last line says how many rows were left out. */
void grid_write_text(struct buffer *b, const struct grid *g, uint32_t max_rows);
void grid_write_markdown(struct buffer *b, const struct grid *g, uint32_t max_rows);
/* Writes an array with one object per row, each on a line of its own. */
void grid_write_json(struct buffer *b, const struct grid *g, uint32_t max_rows);

#endif
