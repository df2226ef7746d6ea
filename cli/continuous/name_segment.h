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
	const struct memory_shares *memory; /* NULL: it has no limit; else one child is at work */
	uint64_t nr_limited, nr_told;	    /* segments with fewer names, for lack of memory */
	/* Is told of each segment that a child has left finished. */
	void (*on_finished)(void *context, const char *path);
	void *context;
};

/*
 * The same in this process: names what the segment holds and finishes it. 0, or -errno of the first
 * write to it that failed.
 */
int name_segment(const struct naming_parts *parts, struct recfile *file,
		 const struct profile_stats *stats, uint64_t end_ns);

/*
 * Has a child do it; the caller frees its own `file`, and `path` is what on_finished() gets. false:
 * too many children are at work, or it could not be forked.
 */
bool naming_start(struct naming *n, const struct naming_parts *parts, struct recfile *file,
		  const char *path, const struct profile_stats *stats, uint64_t end_ns);
/* Takes the children that have ended, and ends those that take far too long. */
void naming_poll(struct naming *n, uint64_t now_ns);
/* Tells the sink of segments whose names took too much memory. */
void naming_tell(struct naming *n, struct sink *sink);
/* Waits for all of them, until that time; then they are ended. */
void naming_wait(struct naming *n, uint64_t until_ns);

#endif
