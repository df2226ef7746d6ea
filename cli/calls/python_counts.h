/*
 * What sprof record --calls counts of Python (calls of functions, garbage collections, imports), as
 * facts of the recording.
 */
#ifndef SPROF_PYTHON_COUNTS_H
#define SPROF_PYTHON_COUNTS_H

#include <stdint.h>

#include "sampler/call_counts.h"

struct python_counts;
struct sink;

/*
 * What a word of --calls stands for: "python", "gc" or "imports"; -1: it names a native function.
 */
int python_counts_event(const char *word);

/* The caller keeps `probes`. */
struct python_counts *python_counts_new(struct call_counts *probes);
void python_counts_free(struct python_counts *counts); /* NULL is fine */
/* Notes that some process's events were not counted for `ns` from the beginning. */
void python_counts_late(struct python_counts *counts, enum call_counts_event event, uint64_t ns);
/* Takes the imports that have ended. Call it often. */
void python_counts_read(struct python_counts *counts, struct sink *sink);
/* Writes the counts, and reports how many events there was no room for. */
void python_counts_write(struct python_counts *counts, struct sink *sink);

#endif
