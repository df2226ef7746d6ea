/*
 * A profile by source line: for every function, what each of its lines took by itself and with all
 * it called, and what kind of code that time ended in. A line that is on a stack several times, by
 * recursion, counts once per sample.
 *
 * Memory is asked for by a line and allocated in native code that the line called. So in columns of
 * memory, self is given to the innermost line of Python, where a stack has one.
 */
#ifndef SPROF_LINES_H
#define SPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/tree/ranking.h"

/* The kind of code that the time ended in: of the innermost function of the stack. */
enum lines_end {
	LINES_END_PYTHON = 0,
	LINES_END_NATIVE = 1, /* also runtime code and code without a name */
	LINES_END_KERNEL = 2,
	LINES_END_GPU = 3,
	NR_LINES_ENDS
};

/* Memory of a line and all that it called. */
struct lines_memory {
	uint64_t bytes, blocks;
	uint64_t margin; /* of the bytes, as in margins.h; 0 where they are exact */
};

struct lines_sum {
	uint64_t self, total; /* in the unit of the column */
	uint64_t self_samples, total_samples;
	uint64_t ends[NR_LINES_ENDS]; /* of the total */
	/* If the column is one of memory; else 0. */
	uint64_t self_margin;
	struct lines_memory allocated, live;
};

struct lines_row {
	uint32_t line; /* 0: the line is not known */
	struct lines_sum sum;
};

/* A function in one source file, whatever modules it was compiled into. */
struct lines_function {
	const char *name, *file; /* the profile's strings, any bytes */
	uint32_t start_line;	 /* the first line that is known; 0 = unknown */
	uint8_t kind;		 /* enum function_kind */
	bool interpreter;	 /* of CPython itself, in a profile of Python */
	struct lines_sum sum;
	const struct lines_row *rows; /* ascending */
	uint32_t nr_rows;
};

struct lines {
	/*
	 * Functions of the interpreter come last; each part is sorted by self, total, file and
	 * name.
	 */
	struct lines_function *functions;
	size_t nr_functions;
	uint64_t total; /* of the column, also of what has no lines */
	uint64_t total_samples;
	uint64_t ends[NR_LINES_ENDS]; /* of the total; samples without a stack are in none */
	uint64_t without;	      /* self of functions whose source file is not known */
	bool has_memory;	      /* the column is one of memory */
	struct lines_row *rows;
};

/* Adds up one column. The result points into the profile's strings. */
void lines_init(struct lines *l, const struct profile *p, enum profile_column column,
		enum ranking_key key);
void lines_fini(struct lines *l);

/*
 * Does the function match what the user named? `source` is the end of a path in whole components
 * ("b.py" is in "/a/b.py", not in "/a/ab.py"; "" = any), `function` its name, in full or without
 * scope and arguments (NULL = any).
 */
bool lines_matches(const struct lines_function *f, const char *source, const char *function);

#endif
