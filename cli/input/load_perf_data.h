/* Reads a file of perf record, and says what is wrong with it. */
#ifndef SPROF_LOAD_PERF_DATA_H
#define SPROF_LOAD_PERF_DATA_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

/*
 * The rest of the file, a perf.data, into a profile without names. `name` is for messages, `warn` also
 * what is missing from it. *ret_elsewhere: the kernel that ran is not the one that runs here now, so
 * that its addresses mean nothing. 0 or -errno, reported.
 */
int perf_data_load(FILE *f, const char *name, bool warn, bool *ret_elsewhere,
		   struct profile **ret_profile);

#endif
