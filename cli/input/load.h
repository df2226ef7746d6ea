/*
 * Opens a profile for the commands that read one: a recording, a folder of segments, or a file of
 * another program (output/import), compressed or not, also from standard input.
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
	/* Filled if the path is a folder of segments, with nr > 0. */
	struct segments_found *ret_found;
	const struct filter *filter; /* the samples to keep; NULL: all */
	/* Called before the filter hides functions from stacks. NULL: nothing is called. */
	void (*on_whole_stacks)(struct profile *p, const void *context);
	const void *context; /* for it */
};

/*
 * Reads `path`: NULL is LOAD_DEFAULT_PATH, "-" standard input. `opts` may be NULL. Warns on stderr
 * of a recording that is unfinished or lost samples, because outputs such as collapsed stacks have
 * no place to say so. Names the frames that the recorder has not named. Returns 0 with a profile
 * that the caller frees, or -errno, reported.
 */
int profile_load(const char *path, const struct load_opts *opts, struct profile **ret_profile);

#endif
