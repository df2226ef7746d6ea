/* What sprof record says of a recording that is complete. */
#ifndef SPROF_RECORD_SUMMARY_H
#define SPROF_RECORD_SUMMARY_H

#include <stdint.h>

struct profile_stats;
struct recfile;

/* `output` is the name of the file, `elapsed_ns` how long was recorded. */
void record_summary(struct recfile *file, const char *output, const struct profile_stats *stats,
		    uint64_t elapsed_ns);

#endif
