/*
 * Copies a profile into a sink: another profile, or a recording. Facts (facts.h) are copied if they
 * are of one process; those of all processes are not, as they would replace one another. Of what
 * processes belong to, see process_rows.h.
 */
#ifndef SPROF_COPY_H
#define SPROF_COPY_H

#include <stdint.h>

struct number_map;
struct profile;
struct sink;

struct profile_copy_opts {
	struct sink *sink;
	/* where names go, by the sink's ids: a profile, or that of a recording */
	struct profile *vocabulary;
	int64_t time_shift_ns; /* added to all times that are known */
	/*
	 * Numbers the profiles that are copied into one sink, from 0 on: the same address in two
	 * kernels, or in two files without a build-id, is not the same code.
	 */
	uint32_t number;
	const char *origin; /* name of a root frame for every stack; NULL: none */
	/* processes that get another number: the new one by the old one, 0 = the same; or NULL */
	struct number_map *pids;
};

/* The number that a process gets. */
uint32_t profile_copy_pid(struct number_map *pids, uint32_t pid);

void profile_copy(const struct profile *from, const struct profile_copy_opts *opts);

#endif
