/*
 * The tables of sprof report that are made from samples and are not a ranking of functions: as pstats
 * prints it, ... A child of the command's struct argp, as shape.h is; they take filters and columns.
 */
#ifndef SPROF_SAMPLED_TABLES_H
#define SPROF_SAMPLED_TABLES_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/options/terminal.h"
#include "output/tree/ranking.h"

struct buffer;
struct view;

enum report_sampled_table {
	SAMPLED_NONE = 0,
	SAMPLED_PSTATS,
	SAMPLED_SPLIT,
	SAMPLED_PHASES,
	SAMPLED_OPERATORS,
	SAMPLED_HINTS,
	SAMPLED_GC,
};

struct report_sampled {
	enum report_sampled_table table;
	const char *rules; /* of phases: a file; NULL: those for PyTorch */
};

struct report_sampled_opts {
	const char *name; /* of the file, for messages */
	enum ranking_key key;
	uint32_t max_rows; /* 0 = all */
	bool json;
	struct terminal terminal;
	bool is_whole; /* no filter and no column was asked for */
};

extern const struct argp report_sampled_argp;

/* 0, or -errno, reported, where the profile does not hold what that table shows. */
int report_sampled_write(struct buffer *b, const struct report_sampled *what, const struct view *v,
			 const struct report_sampled_opts *opts);

#endif
