/*
 * Where the time went inside some functions: their lines, with the functions that were inlined into
 * each line below it, and their addresses. A line or an address that is on a stack several times
 * counts once per sample.
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

static inline void annotation_sum_add(struct annotation_sum *to, const struct annotation_sum *sum)
{
	to->self += sum->self;
	to->total += sum->total;
	to->self_samples += sum->self_samples;
	to->total_samples += sum->total_samples;
}

/*
 * A line of the function (level 0), or of a function inlined there, which comes below the line it
 * was inlined at.
 */
struct annotation_line {
	uint32_t level;
	uint32_t function; /* in annotations.names */
	const char *file;  /* of the function, a string of the profile; "" = unknown */
	uint32_t line;	   /* 0 = unknown */
	struct annotation_sum sum;
};

/* An address in the function's code, also where the function was inlined. */
struct annotation_address {
	uint32_t module;
	uint64_t address; /* as in frames */
	struct annotation_sum sum;
};

struct annotation {
	uint32_t function; /* in annotations.names */
	const char *plain; /* its name in the profile, not cleaned */
	struct annotation_sum sum;
	const struct annotation_line
		*lines; /* by line; each is followed by those inlined there, of a higher level */
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

/*
 * Annotates the functions that match, in one column. The result points into the profile, which must
 * outlive it.
 */
void annotations_init(struct annotations *a, const struct profile *p, enum profile_column column,
		      const struct pattern *pattern, enum ranking_key key);
void annotations_fini(struct annotations *a);

#endif
