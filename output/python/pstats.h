/*
 * What cProfile knows of a program, as far as a profile has it: functions by file, line and name,
 * with their own time, the time including calls, their callers, and the number of calls if it was
 * counted.
 */
#ifndef SPROF_PSTATS_H
#define SPROF_PSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/tree/ranking.h"

struct buffer;
struct grid_report_opts;
struct profile;
struct summary;
struct tree;
struct tree_function;

#define PSTATS_NO_CALLER UINT32_MAX

struct pstats_function {
	const struct tree_function *function; /* one function of the tree with this key */
	uint64_t self, total;		      /* in the unit of the column */
	uint64_t events;		      /* of the total */
	uint64_t calls;			      /* while calls_known */
	uint32_t first_edge, nr_edges;	      /* its callers */
	/*
	 * False unless calls were counted: kernels, NVTX ranges, calls of the CUDA API and --calls.
	 * Samples count no calls.
	 */
	bool calls_known;
	bool is_used; /* in the result it always is */
};

/* A function called by another one, with the part of its time that was spent in those calls. */
struct pstats_edge {
	uint32_t callee, caller; /* index in functions[]; caller PSTATS_NO_CALLER: a root */
	uint64_t self, total;
};

struct pstats {
	struct pstats_function *functions; /* in the order of the tree's functions */
	size_t nr_functions;
	struct pstats_edge *edges; /* by callee, then by caller */
	size_t nr_edges;
};

/* Adds up the column of the tree, which is of `p` and must outlive the result. */
void pstats_init(struct pstats *stats, const struct profile *p, const struct tree *tree);
void pstats_fini(struct pstats *stats);

/*
 * The parts of a function's key. The file is its module, or "~" for a function without one; any
 * bytes.
 */
const char *pstats_file(const struct tree_function *f);
uint32_t pstats_line(const struct tree_function *f); /* 0 = unknown */
size_t pstats_name_size(const struct tree_function *f);

/*
 * Writes the table that pstats prints, or JSON; a dash, or null, for what was not counted. Sorted
 * by tottime, or with RANKING_TOTAL by cumtime. The column must be one of time.
 */
void pstats_write(struct buffer *b, const struct pstats *stats, const struct summary *summary,
		  enum ranking_key key, const struct grid_report_opts *opts);

#endif
