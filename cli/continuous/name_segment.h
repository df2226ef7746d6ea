/*
 * Names the frames of a segment that has ended and finishes its file, in a child process: looking
 * names up takes seconds, and sampling goes on meanwhile. What the child allocates is gone with it.
 */
#ifndef SPROF_NAME_SEGMENT_H
#define SPROF_NAME_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/profile.h"

struct debuginfod;
struct folder;
struct recfile;
struct sandbox;
struct segment_sink;
struct source;
struct source_ops;

struct naming_parts {
	const struct source_ops *ops;
	struct source *source;
	const struct sandbox *sandbox;
	struct debuginfod *debuginfod; /* NULL: not asked for */
	const struct segment_sink *sink;
	struct folder *folder;
};

#define MAX_NAMING 2

/* The children at work. Zeroed is valid. */
struct naming {
	struct {
		pid_t pid;
		uint64_t since_ns;
	} of[MAX_NAMING];
	size_t nr;
};

/*
 * The same in this process: names what the segment holds and finishes it. 0, or -errno of the first
 * write to it that failed.
 */
int name_segment(const struct naming_parts *parts, struct recfile *file,
		 const struct profile_stats *stats, uint64_t end_ns);

/*
 * Has a child do it; the caller frees its own `file`. false: too many children are at work, or it
 * could not be forked.
 */
bool naming_start(struct naming *n, const struct naming_parts *parts, struct recfile *file,
		  const struct profile_stats *stats, uint64_t end_ns);
/* Takes the children that have ended, and ends those that take far too long. */
void naming_poll(struct naming *n, uint64_t now_ns);
/* Waits for all of them, until that time; then they are ended. */
void naming_wait(struct naming *n, uint64_t until_ns);

#endif
