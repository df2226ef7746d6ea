/*
 * The times and threads of a tree's samples, for the timeline of an HTML page: the last section of
 * the data of svg_data.h.
 */
#ifndef SPROF_TIMELINE_DATA_H
#define SPROF_TIMELINE_DATA_H

#include <stdbool.h>

struct buffer;
struct profile;
struct tree;

/* Are there times? Imported stacks have none, and a page cannot hold too many samples. */
bool timeline_data_has(const struct tree *tree, const struct profile *p);

/*
 * Appends as varints, with the samples in order of time:
 *
 *	nr_threads; each: pid, tid, length of its name, its name
 *	nr_samples, then field by field:
 *	time		us since the sample before; the first since the start of the recording
 *	thread
 *	node
 *	weight
 */
void timeline_data_add(struct buffer *b, const struct tree *tree, const struct profile *p);

#endif
