/*
 * The tables of sprof report that are made from samples but do not rank functions: pstats, phases,
 * hints and others. They take filters and columns. A child of the command's struct argp, as shape.h
 * is.
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
	const char *rules; /* of phases: a file; NULL: the built-in rules for PyTorch */
};

struct report_sampled_opts {
	const char *name; /* of the input, for messages */
	enum ranking_key key;
	uint32_t max_rows; /* 0 = all */
	bool json;
	struct terminal terminal;
	bool is_whole; /* the user gave no filter and no column */
};

extern const struct argp report_sampled_argp;

/* Returns 0 or -errno, reported; -ENODATA if the profile has nothing for that table. */
int report_sampled_write(struct buffer *b, const struct report_sampled *what, const struct view *v,
			 const struct report_sampled_opts *opts);

#endif
