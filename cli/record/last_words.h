/* What sprof record says of a recording that is complete. */
#ifndef SPROF_LAST_WORDS_H
#define SPROF_LAST_WORDS_H

#include <stdint.h>

struct profile_stats;
struct recfile;

/* `output` is the name of the file, `elapsed_ns` how long was recorded. */
void record_last_words(struct recfile *file, const char *output, const struct profile_stats *stats,
		       uint64_t elapsed_ns);

#endif
