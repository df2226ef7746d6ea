/* The progress line of sprof record on the terminal; each call replaces it. */
#ifndef SPROF_PROGRESS_H
#define SPROF_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Is standard error a terminal that can replace a line? TERM=dumb cannot. */
bool progress_is_possible(void);
void progress_samples(uint64_t elapsed_ns, uint64_t nr_samples, uint64_t nr_lost,
		      uint64_t size_bytes);
/* Shows a download; total is 0 if the size is not known. A NULL name only clears the line. */
void progress_fetch(const char *name, uint64_t done_bytes, uint64_t total_bytes);
void progress_clear(void);

#endif
