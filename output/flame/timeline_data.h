/*
 * The times and threads of a tree's samples, for the timeline of an HTML page: the last section of
 * the data of svg_data.h.
 */
#ifndef SPROF_TIMELINE_DATA_H
#define SPROF_TIMELINE_DATA_H

struct buffer;
struct profile;
struct timeline;
struct tree;

/*
 * NULL if there are no times: imported stacks have none, and a page cannot hold too many samples.
 * Profile and tree must outlive it.
 */
struct timeline *timeline_new(const struct tree *tree, const struct profile *p);
void timeline_free(struct timeline *timeline);

/*
 * Appends as varints, with the samples in order of time:
 *
 *	nr_threads; each: pid, tid, length of its name, its name, and its exact times in us (wall,
 *		running, waiting for a CPU, waiting), or zeros
 *	nr_samples, then field by field:
 *	time		us since the sample before; the first since the start of the recording
 *	thread
 *	weight
 */
void timeline_data_add(struct buffer *b, const struct timeline *timeline);

/* Appends the node of each sample. */
void timeline_data_add_nodes(struct buffer *b, const struct timeline *timeline);

#endif
