/*
 * The chart of device memory over time in an HTML page, a line per GPU and process. It is drawn
 * here, so that it shows without scripts too; page_memory.js adds a reading of the memory in use at
 * the pointer.
 */
#ifndef SPROF_MEMORY_CHART_H
#define SPROF_MEMORY_CHART_H

struct buffer;
struct profile;

/* Appends nothing if the profile has no points. */
void memory_chart_add(struct buffer *b, const struct profile *p);

#endif
