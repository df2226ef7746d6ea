/*
 * A profile that is shown: what all commands that print or draw a profile share, from the file that
 * they read to the file that they write.
 */
#ifndef SPROF_VIEW_H
#define SPROF_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/tree/summary.h"

struct argp_state;
struct buffer;
struct dimension;
struct filter;
struct idle;
struct profile;
struct tree;
struct tree_opts;

struct view {
	struct profile *profile;
	struct tree *tree;
	struct summary summary;
	char *note; /* the reader's note on an unfinished recording; "" for others */
};

/* --column NAME, for the option table of a command that shows one column. */
#define VIEW_COLUMN_OPTION "column", VIEW_KEY_COLUMN, "COLUMN", 0
enum { VIEW_KEY_COLUMN = 0x200 };

/* --by WHAT: ends the program where there is no such dimension. */
const struct dimension *view_parse_dimension(const char *name, struct argp_state *state);

/*
 * Parses the argument of --column; ends the program if there is no such column. The column of an
 * event depends on the profile, so view_build() finds it.
 */
void view_parse_column(const char *name, struct argp_state *state, struct tree_opts *opts);

/* Finds the column of an event. 0, or -ENODATA, reported as by view_check_column(). */
int view_find_event(const struct profile *p, const char *event, const char *path,
		    enum profile_column *ret_column);

/*
 * Returns 0, or -ENODATA, reported with `path` (NULL: the default one), if the user asked for a
 * column that holds nothing.
 */
int view_check_column(const struct profile *p, enum profile_column column, const char *path);

/* Takes FILE from the command line; ends the program where *input is one already. */
void view_take_input(const char *arg, struct argp_state *state, const char **input);

/* Parses the argument of --sort: true for total, false for self; ends the program at another. */
bool view_sorts_by_total(const char *text, struct argp_state *state);

/* Parses a number of `what` to show; ends the program if `arg` is not a number. */
uint32_t view_parse_rows(const char *text, const char *what, struct argp_state *state);

/*
 * The two halves of view_open(), for commands that change the profile in between. Call view_close()
 * after both, also after an error. Idle waits are folded (idle_fold()); `idle` says which, NULL:
 * the usual ones.
 */
int view_load_busy(const char *path, const struct filter *filter, const struct idle *idle,
		   struct view *ret_view);
int view_build(struct view *view, const char *path, const struct tree_opts *opts);

/*
 * The same, after rewriting the stacks (NULL: they stay). How far the numbers can be trusted is
 * told by the stacks as they were recorded.
 */
int view_build_by(struct view *view, const char *path, const struct tree_opts *opts,
		  void (*rewrite)(struct profile *p));

/*
 * Reads `path` as profile_load() does, keeps the samples that the filter lets through (NULL: all)
 * and builds the tree of a column. Returns 0 or -errno, reported.
 */
int view_open(const char *path, const struct filter *filter, const struct tree_opts *opts,
	      struct view *ret_view);
void view_close(struct view *view);

/* Does the name of the output end in .html or .htm? False for NULL. */
bool view_is_html(const char *path);

/*
 * Writes everything to `path`, completely or not at all; NULL and "-" are standard output. Returns
 * 0 or -errno, reported.
 */
int view_write(const char *path, const struct buffer *b);

#endif
