/*
 * The global interpreter lock in a profile. A recording says of each sample whether its thread held
 * the lock (enum profile_gil). If it did not, the stack tells whether the thread was waiting for
 * it.
 */
#ifndef SPROF_GIL_H
#define SPROF_GIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct tree_functions;

/* Sums over the samples of one column, in its unit. */
struct gil_sums {
	uint64_t held;
	uint64_t waiting;   /* to acquire it */
	uint64_t released;  /* given up for work that does not need it */
	uint64_t no_thread; /* in threads unknown to Python */
	uint64_t unknown;   /* in processes without Python, or unreadable ones */
};

/*
 * The profile must be symbolized. A thread waits for the GIL in CPython's take_gil(), and in
 * drop_gil() if the eval loop had to let another thread run. If these have no names, a timed wait
 * for a condition that the interpreter called directly is a wait for the GIL: it uses such waits
 * for nothing else (3.8 to 3.15 on Linux). COLUMN_WALL is the sum of its parts where no sample has
 * it.
 */
void gil_add_up(const struct profile *p, enum profile_column column, struct gil_sums *ret_sums);

/* Is the GIL known for any sample? */
bool gil_is_known(const struct profile *p);

/* Is it the function of CPython in which a thread waits for the GIL? */
bool gil_is_wait(const char *name);

/*
 * By number of a function in `names`: is it an interpreter's function that uses conditions of
 * pthreads, which is take_gil() or drop_gil() without its name, or what these were inlined into?
 * The caller frees the array.
 */
bool *gil_unnamed_functions(const struct profile *p, const struct tree_functions *names);
/* Does an unnamed function of these wait for the GIL while it calls `callee`? */
bool gil_waits_by(const char *callee);

#endif
