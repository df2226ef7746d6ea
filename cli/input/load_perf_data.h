/* Reads a file of perf record and reports what is missing from it. */
#ifndef SPROF_LOAD_PERF_DATA_H
#define SPROF_LOAD_PERF_DATA_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

struct perf_data_load_opts {
	bool warn;	   /* of what is missing from the file */
	const char *event; /* to show; NULL: the one with the most samples */
};

/*
 * Reads the rest of the file, a perf.data, into a profile without names. `name` is the file's name
 * in messages. *ret_elsewhere: it was recorded under another kernel, whose addresses cannot be
 * named here. Returns 0 or -errno, reported.
 */
int perf_data_load(FILE *f, const char *name, const struct perf_data_load_opts *opts,
		   bool *ret_elsewhere, struct profile **ret_profile);

#endif
