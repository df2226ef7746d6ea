/*
 * Reports whose rows are a grid of figures: sets the grid up for the terminal, and writes it as
 * text or as JSON, figures from samples after the head that says how far they can be trusted.
 */
#ifndef SPROF_GRID_REPORT_H
#define SPROF_GRID_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct grid;
struct grid_column;
struct profile_sums;
struct summary;

struct grid_report_opts {
	bool json;
	uint32_t max_rows; /* 0 = all */
	size_t columns;	   /* of the terminal, which names are cut to; 0 = never cut */
	bool unicode;	   /* in text, else ASCII */
	/* of which segments the facts in the table are sums; NULL: of none */
	const struct profile_sums *sums;
};

/* As grid_init(): the columns must outlive the grid. */
void grid_report_init(struct grid *g, const struct grid_column *columns, size_t nr,
		      const struct grid_report_opts *opts);

/* The next cell: a number of samples with its margin of error, or an exact count. */
void grid_report_events(struct grid *g, uint64_t events, const struct summary *summary);

/* `report` is the name of the report in JSON. */
void grid_report_write(struct buffer *b, const struct grid *g, const struct summary *summary,
		       const char *report, const struct grid_report_opts *opts);
/* Says of which segments of a folder sums are made. */
void grid_report_add_sums(struct buffer *b, const struct profile_sums *sums);
/* Writes a table of facts: without the head, as no figure is from samples. */
void grid_report_write_counted(struct buffer *b, const struct grid *g, const char *report,
			       const struct grid_report_opts *opts);

#endif
