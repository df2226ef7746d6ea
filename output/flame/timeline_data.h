/*
 * When the samples of a tree were taken, and by which thread, for the script of a page; the last section
 * of svg_data.h.
 */
#ifndef SPROF_TIMELINE_DATA_H
#define SPROF_TIMELINE_DATA_H

#include <stdbool.h>

struct buffer;
struct profile;
struct tree;

/* Can it be told? Not of imported stacks, nor of more samples than a page can hold. */
bool timeline_data_has(const struct tree *tree, const struct profile *p);

/*
 * In order of time:
 *
 *	nr_threads; each: pid, tid, length of its name, its name
 *	nr_samples, then column by column:
 *	time		us since the sample before; the first, since the recording began
 *	thread
 *	node
 *	weight
 */
void timeline_data_add(struct buffer *b, const struct tree *tree, const struct profile *p);

#endif
