/*
 * How the commands that read a profile open it: a recording, a file of perf record, collapsed
 * stacks, pprof or speedscope, from a file or from standard input, compressed or not.
 */
#ifndef SPROF_LOAD_H
#define SPROF_LOAD_H

#include <stdbool.h>

struct filter;
struct profile;
struct segments_found;

#define LOAD_DEFAULT_PATH "sprof.data"

struct load_opts {
	/* for frames that are named here: only functions, no inlined ones and no lines */
	bool no_inlines;
	bool no_symbols; /* leave such frames unnamed */
	/* do not warn: the command itself says what is missing from a recording */
	bool no_warnings;
	/* Takes the note of recfile_read(), "" for a finished recording; the caller frees it. */
	char **ret_note;
	/* Is filled where the path is a folder of segments: found->nr is not 0 then. */
	struct segments_found *ret_found;
	const struct filter *filter; /* the samples to keep; NULL: all */
	/* Is called while stacks still have all their functions, which the filter may hide. */
	void (*on_whole_stacks)(struct profile *p, const void *context); /* NULL: nothing is */
	const void *context;						 /* for it */
};

/*
 * Reads `path`: NULL is LOAD_DEFAULT_PATH, "-" standard input. `opts` may be NULL. Warns on stderr
 * of a recording that is unfinished or lost samples, because some outputs have no place to say so:
 * collapsed stacks have none, and a picture goes to a file. Frames of a recording that ended before
 * its symbols were written are named here. Returns 0 with a profile that the caller frees, or
 * -errno, reported.
 */
int profile_load(const char *path, const struct load_opts *opts, struct profile **ret_profile);

#endif
