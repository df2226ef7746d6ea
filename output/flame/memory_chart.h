/*
 * The charts of memory over time in an HTML page: of devices, a line per GPU and process, of the
 * processes whose memory was sampled, and of PyTorch's allocators. They are drawn here, so that
 * they show without scripts too; page_memory.js adds a reading of the memory in use at the
 * pointer, and a brush.
 */
#ifndef SPROF_MEMORY_CHART_H
#define SPROF_MEMORY_CHART_H

struct buffer;
struct profile;

/* Appends nothing if the profile has no points. */
void memory_chart_add(struct buffer *b, const struct profile *p);

#endif
