/*
 * Device memory over time, a line for each GPU of each process: a figure of a page, drawn here so that it is there
 * without a script too. page_memory.js reads out of it what was in use at a moment.
 */
#ifndef SPROF_MEMORY_CHART_H
#define SPROF_MEMORY_CHART_H

struct buffer;
struct profile;

/* Nothing where the recording has no points. */
void memory_chart_add(struct buffer *b, const struct profile *p);

#endif
