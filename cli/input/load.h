/*
 * How the commands that read a profile open it: a recording or collapsed stacks, told apart by
 * content; a file, or standard input.
 */
#ifndef SPROF_LOAD_H
#define SPROF_LOAD_H

#include <stdbool.h>

struct filter;
struct profile;

#define LOAD_DEFAULT_PATH "sprof.data"

struct load_opts {
	bool no_inlines;  /* where the recording has no symbols: function names only */
	bool no_symbols;  /* leave such frames unnamed */
	bool no_warnings; /* the command says itself what is missing from a recording */
	/* Takes what recfile_read() has to say, "" for a whole recording; the caller frees it. */
	char **ret_note;
	const struct filter *filter; /* what of it to keep; NULL: all */
};

/*
 * Reads `path`; NULL is LOAD_DEFAULT_PATH, "-" standard input. `opts` may be NULL. Warns on stderr
 * of a recording that is incomplete or lost samples, as not every output has a place to say so:
 * collapsed stacks have none, and a picture goes to a file. Frames of a
 * recording that ended before its symbols were written are symbolized here. Returns 0 with a
 * profile that the caller frees, or -errno, reported.
 */
int profile_load(const char *path, const struct load_opts *opts, struct profile **ret_profile);

#endif
