/*
 * A profile by source line: for every function what its lines took, themselves and with all they
 * called, and what code the time of a line ended in. A line stands in a stack as often as its
 * function does; it is counted once per sample.
 */
#ifndef SPROF_LINES_H
#define SPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

/* What code the time ended in: the kind of the innermost function of the stack. */
enum lines_end {
	LINES_END_PYTHON = 0,
	LINES_END_NATIVE = 1, /* JIT code and code without a name too */
	LINES_END_KERNEL = 2,
	LINES_END_GPU = 3,
	NR_LINES_ENDS
};

struct lines_sum {
	uint64_t self, total; /* in the unit of the column */
	uint64_t self_samples, total_samples;
	uint64_t ends[NR_LINES_ENDS]; /* of the total */
};

struct lines_row {
	uint32_t line; /* 0: somewhere in the function, the line is not known */
	struct lines_sum sum;
};

/* A function in one source file, in whatever modules it was compiled into. */
struct lines_function {
	const char *name, *file; /* the profile's strings, any bytes */
	uint32_t start_line;	 /* the first that is known; 0 = unknown */
	uint8_t kind;		 /* enum function_kind */
	bool interpreter;	 /* of CPython itself, in a profile of Python */
	struct lines_sum sum;
	const struct lines_row *rows; /* ascending */
	uint32_t nr_rows;
};

struct lines {
	/* Those of the interpreter last; of each, largest self first, then by total, file and name. */
	struct lines_function *functions;
	size_t nr_functions;
	uint64_t total; /* of the column, also what has no lines */
	uint64_t total_samples;
	uint64_t ends[NR_LINES_ENDS]; /* of the total; what has no stack is in none */
	uint64_t without;	      /* self of functions whose source file is not known */
	struct lines_row *rows;
};

enum lines_key { LINES_BY_SELF, LINES_BY_TOTAL };

/* Adds up one column; points into the profile's strings. */
void lines_init(struct lines *l, const struct profile *p, enum profile_column column,
		enum lines_key key);
void lines_fini(struct lines *l);

/*
 * Is this what the user named? `source` is the end of a path in whole components ("b.py" is in
 * "/a/b.py", not in "/a/ab.py"; "" = any), `function` its name, in full or without scope and
 * arguments (NULL = any).
 */
bool lines_matches(const struct lines_function *f, const char *source, const char *function);

#endif
