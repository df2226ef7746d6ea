/*
 * Copies a profile into a sink: another profile, or a recording. Facts (facts.h) of a process are
 * copied, and those of system calls are added up; other facts about all processes would replace one
 * another, and are not copied. process_rows.h joins FACT_PROCESS.
 */
#ifndef SPROF_COPY_H
#define SPROF_COPY_H

#include <stdint.h>

struct number_map;
struct profile;
struct sink;

struct profile_copy_opts {
	struct sink *sink;
	/* where names go, by the sink's ids: the sink's profile, or the recording's vocabulary */
	struct profile *vocabulary;
	int64_t time_shift_ns; /* added to all known times */
	/*
	 * Numbers the profiles that are copied into one sink, from 0 on: the same address in two
	 * kernels, or in two files without a build-id, is not the same code.
	 */
	uint32_t number;
	const char *origin; /* name of a root frame for every stack; NULL: none */
	/* processes (hosts.h) that get another number: the new one, 0 = the same; or NULL */
	struct number_map *pids;
};

/* The number that a process (hosts.h) gets: a copy is of one host. */
uint32_t profile_copy_pid(struct number_map *pids, uint64_t process);

/* Returns how many samples were left out, because no column is left for their event. */
uint64_t profile_copy(const struct profile *from, const struct profile_copy_opts *opts);

#endif
