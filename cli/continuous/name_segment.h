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
struct memory_shares;
struct recfile;
struct sandbox;
struct segment_sink;
struct sink;
struct source;
struct source_ops;

struct naming_parts {
	const struct source_ops *ops;
	struct source *source;
	struct sandbox *sandbox;
	struct debuginfod *debuginfod; /* NULL: not asked for */
	const struct segment_sink *sink;
	struct folder *folder;
	const char *name; /* of the segment, in the folder */
};

#define MAX_NAMING 2

/* The children at work. */
struct naming {
	struct {
		pid_t pid;
		uint64_t since_ns;
		char *path;
	} of[MAX_NAMING];
	size_t nr;
	const struct memory_shares *memory; /* if not NULL, one child works at a time */
	uint64_t nr_limited, nr_told;	    /* segments with names left out, for lack of memory */
	/* Called for each segment that a child has finished. */
	void (*on_finished)(void *context, const char *path);
	void *context;
};

/*
 * Names the frames of the segment and finishes it, in this process. 0, or -errno of the first write
 * to the segment that failed.
 */
int name_segment(const struct naming_parts *parts, struct recfile *file,
		 const struct profile_stats *stats, uint64_t end_ns);

/*
 * Has a child do that. The caller frees its own `file`; on_finished() gets `path`. Returns false if
 * too many children are at work, or none could be forked.
 */
bool naming_start(struct naming *n, const struct naming_parts *parts, struct recfile *file,
		  const char *path, const struct profile_stats *stats, uint64_t end_ns);
/* Reaps the children that have ended, and ends those that take far too long. */
void naming_poll(struct naming *n, uint64_t now_ns);
/* Records in the sink how many segments lack names for lack of memory. */
void naming_tell(struct naming *n, struct sink *sink);
/* Waits for all children until until_ns, and ends those that are left. */
void naming_wait(struct naming *n, uint64_t until_ns);

#endif
