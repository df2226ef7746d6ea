/* Reads a file of perf record and reports what is missing from it. */
#ifndef SPROF_LOAD_PERF_DATA_H
#define SPROF_LOAD_PERF_DATA_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

/*
 * Reads the rest of the file, a perf.data, into a profile without names. `name` is the file's name
 * in messages; with `warn` they also say what is missing from it. *ret_elsewhere: another kernel
 * ran there than runs here, so its addresses cannot be named. Returns 0 or -errno, reported.
 */
int perf_data_load(FILE *f, const char *name, bool warn, bool *ret_elsewhere,
		   struct profile **ret_profile);

#endif
