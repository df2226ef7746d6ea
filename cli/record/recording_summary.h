/* The lines that sprof record prints at its end: what was recorded, and what is missing from it. */
#ifndef SPROF_RECORDING_SUMMARY_H
#define SPROF_RECORDING_SUMMARY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct profile_stats;
struct recfile;
struct sink;

struct recording_summary {
	const struct profile_stats *stats;
	struct recfile *file;
	const char *path;
	uint64_t duration_ns;
	const pid_t *pids; /* targets, if processes were named */
	size_t nr_pids;
};

/* Records that the memory of some processes could not be read, so frames may be missing. */
void recording_summary_tell_reads(struct sink *sink);

void recording_summary_print(const struct recording_summary *summary);

#endif
