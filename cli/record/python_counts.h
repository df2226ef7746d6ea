/* What sprof record --calls counts of Python: calls of functions, garbage collections, imports; as facts. */
#ifndef SPROF_PYTHON_COUNTS_H
#define SPROF_PYTHON_COUNTS_H

#include <stdint.h>

#include "sampler/call_counts.h"

struct python_counts;
struct sink;

/* What a word of --calls stands for: "python", "gc", "imports"; -1: a native function. */
int python_counts_event(const char *word);

/* `probes` stay the caller's. */
struct python_counts *python_counts_new(struct call_counts *probes);
void python_counts_free(struct python_counts *counts); /* NULL is fine */
/* Of that event nothing was known for so long after the beginning, in one process at least. */
void python_counts_late(struct python_counts *counts, enum call_counts_event event, uint64_t ns);
/* Takes the imports that have ended; to be called often. */
void python_counts_read(struct python_counts *counts, struct sink *sink);
/* Writes the sums; says what there was no room for. */
void python_counts_write(struct python_counts *counts, struct sink *sink);

#endif
