/*
 * The global interpreter lock in a profile. A recording says of each sample whether its thread held it
 * (enum profile_gil); of those that did not, the stack tells who was waiting for it.
 */
#ifndef SPROF_GIL_H
#define SPROF_GIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

/* Sums over the samples of one column, in its unit. */
struct gil_sums {
	uint64_t held;
	uint64_t waiting;   /* to get it (back) */
	uint64_t released;  /* let go while the thread does what needs none */
	uint64_t no_thread; /* of threads that Python knows nothing of */
	uint64_t unknown;   /* of processes without Python, or where it does not say */
};

/*
 * A thread waits in CPython's take_gil(), and in drop_gil() when the eval loop was asked to let another
 * one run; where functions have no names, in a timed wait for a condition that the interpreter itself
 * called, which it does for nothing else (3.8 to 3.15 on Linux). The profile has its names already.
 */
void gil_add_up(const struct profile *p, enum profile_column column, struct gil_sums *ret_sums);

/* Does the profile say anything of the GIL? */
bool gil_is_known(const struct profile *p);

#endif
