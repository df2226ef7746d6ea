/*
 * A profile opened to be looked at: what the commands that print or draw one have in common, from the
 * file they read to the file they write.
 */
#ifndef SPROF_VIEW_H
#define SPROF_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/tree/summary.h"

struct argp_state;
struct buffer;
struct filter;
struct profile;
struct tree;
struct tree_opts;

struct view {
	struct profile *profile;
	struct tree *tree;
	struct summary summary;
	char *note; /* what the reader had to say about an incomplete recording */
};

/* --column NAME, for the table of options of a command that shows one. */
#define VIEW_COLUMN_OPTION "column", VIEW_KEY_COLUMN, "NAME", 0
enum { VIEW_KEY_COLUMN = 0x200 };

/* Takes its argument; ends the program where there is no such column. */
void view_parse_column(const char *name, struct argp_state *state, struct tree_opts *opts);

/*
 * A column that was asked for and holds nothing would be an empty picture: 0 or -ENODATA, reported with
 * `path` (NULL: the default one).
 */
int view_check_column(const struct profile *p, enum profile_column column, const char *path);

/* A number of `what` to show; ends the program where it is none. */
uint32_t view_parse_rows(const char *text, const char *what, struct argp_state *state);

/*
 * The two halves of view_open(), for who changes the profile in between; view_close() after both, and
 * after an error of either.
 */
int view_load(const char *path, const struct filter *filter, struct view *ret_view);
int view_build(struct view *view, const char *path, const struct tree_opts *opts);

/*
 * Reads `path` as profile_load() does, keeps what the filter lets through (NULL: all) and builds the
 * tree of a column. 0 or -errno, reported.
 */
int view_open(const char *path, const struct filter *filter, const struct tree_opts *opts,
	      struct view *ret_view);
void view_close(struct view *view);

/* Does the name of an output ask for a page: x.html, x.htm? NULL does not. */
bool view_is_html(const char *path);

/*
 * Writes everything to `path`, whole or not at all; NULL and "-" are standard output. 0 or -errno,
 * reported.
 */
int view_write(const char *path, const struct buffer *b);

#endif
