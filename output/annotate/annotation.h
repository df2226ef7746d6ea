/*
 * Where inside some functions the time went: for each the lines, with what was inlined into them below,
 * and the addresses. What stands in a stack several times is counted once per sample.
 */
#ifndef SPROF_ANNOTATION_H
#define SPROF_ANNOTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/select/pattern.h"
#include "output/tree/ranking.h"
#include "output/tree/functions.h"

struct annotation_sum {
	uint64_t self, total; /* in the unit of the column */
	uint64_t self_samples, total_samples;
};

static inline bool annotation_sum_is_empty(const struct annotation_sum *sum)
{
	return !sum->total && !sum->total_samples;
}

/* A line of the function (level 0), or of what was inlined there: below the line it was inlined at. */
struct annotation_line {
	uint32_t level;
	uint32_t function; /* in annotations.names */
	const char *file;  /* the profile's: where that function is from; "" = unknown */
	uint32_t line;	   /* 0 = unknown */
	struct annotation_sum sum;
};

/* An address of the function's code, wherever that was inlined. */
struct annotation_address {
	uint32_t module;
	uint64_t address; /* as frames have it */
	struct annotation_sum sum;
};

struct annotation {
	uint32_t function; /* in annotations.names */
	const char *plain; /* the profile's name of it, which naming has not cleaned */
	struct annotation_sum sum;
	const struct annotation_line
		*lines; /* by line, each before those of a higher level below */
	size_t nr_lines;
	const struct annotation_address *addresses; /* by module, then ascending */
	size_t nr_addresses;
};

struct annotations {
	struct tree_functions names;
	struct annotation *list; /* most expensive first */
	size_t nr;
	struct annotation_line *lines;
	struct annotation_address *addresses;
};

/* The functions that fit, of one column. Points into the profile, which must outlive the result. */
void annotations_init(struct annotations *a, const struct profile *p, enum profile_column column,
		      const struct pattern *pattern, enum ranking_key key);
void annotations_fini(struct annotations *a);

#endif
