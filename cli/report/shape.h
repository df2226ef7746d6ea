/*
 * The options of sprof report that say what its rows are: functions, modules, lines, ..., or the
 * nodes of a tree, from the root or from the leaves. A child of the command's struct argp, as
 * filter_opts.h is.
 */
#ifndef SPROF_SHAPE_H
#define SPROF_SHAPE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "output/select/pattern.h"

struct dimension;
struct profile;

enum report_direction {
	REPORT_DOWN,
	REPORT_INVERT,
	REPORT_CALLERS,
	REPORT_CALLEES,
	REPORT_ANNOTATE
};

struct report_shape {
	const struct dimension *by;
	bool is_given; /* one of these options was given */
	bool min_given;
	bool is_tree;
	enum report_direction direction;
	struct pattern pattern; /* the function of --callers, --callees and --annotate */
	uint32_t min_parts;	/* millionths: smaller nodes of a tree are not shown */
	char separator;		/* ',' or '\t' between cells; 0 = a table for people, or JSON */
};

extern const struct argp report_shape_argp;

/* Removes samples that belong to no row. */
void report_shape_focus(const struct report_shape *shape, struct profile *p);
/* Must stacks be rewritten? */
bool report_shape_changes(const struct report_shape *shape);
/* Rewrites the stacks of the profile so that their functions are the rows. */
void report_shape_apply(const struct report_shape *shape, struct profile *p);
void report_shape_fini(struct report_shape *shape);

#endif
