/*
 * The options of sprof report that say what its rows are: functions, modules, lines, ... or the nodes of a
 * tree, and from which side that is looked at. A child of the command's struct argp, as filter_opts.h is.
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
	bool is_given; /* any of these options */
	bool min_given;
	bool is_tree;
	enum report_direction direction;
	struct pattern pattern; /* of the function, for callers, callees and annotate */
	uint32_t min_parts;	/* millionths: smaller nodes of a tree are not shown */
	char separator;		/* ',' or '\t' between cells; 0 = a table for people, or JSON */
};

extern const struct argp report_shape_argp;

/* Leaves out of the profile what no row is to be made of. */
void report_shape_focus(const struct report_shape *shape, struct profile *p);
/* Are stacks to be changed? */
bool report_shape_changes(const struct report_shape *shape);
/* Makes of the profile what the rows are to be. */
void report_shape_apply(const struct report_shape *shape, struct profile *p);
void report_shape_fini(struct report_shape *shape);

#endif
