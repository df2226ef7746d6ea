/*
 * One picture of a live profile: what was asked (which rows, which column, ...) and the tree that
 * answers it, made in the same steps as those of sprof report. An answer never changes, so it can
 * be drawn while the next one is made.
 */
#ifndef SPROF_ANSWER_H
#define SPROF_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "output/live/live.h"
#include "output/tree/summary.h"
#include "output/tree/tree.h"

struct dimension;

enum live_detail { DETAIL_NONE, DETAIL_CALLEES, DETAIL_CALLERS };

struct live_question {
	const struct dimension *by; /* what the rows are */
	bool column_given;	    /* else the profile's default */
	enum profile_column column;
	char *focus;		 /* an expression as of --focus; NULL: all */
	bool show_idle;		 /* idle waits, too */
	enum live_detail detail; /* the tree of one row */
	char *detail_name;	 /* of that row, as the table has it */
};

void live_question_copy(struct live_question *to, const struct live_question *from);
void live_question_fini(struct live_question *q);

/* A tree with what it rests on. */
struct live_tree {
	struct profile *profile;
	struct tree *tree; /* NULL: there is none */
	struct summary summary;
};

struct live_answer {
	struct live_question question;
	struct live_state state;
	bool has_column[NR_COLUMNS];
	struct live_tree rows, detail; /* detail: of question.detail */
	char why[256];		       /* what could not be done, "" = nothing */
};

/* Takes `profile`, of which live_copy() said `state`. */
struct live_answer *live_answer_new(const struct live_question *question, struct profile *profile,
				    const struct live_state *state);
void live_answer_free(struct live_answer *answer); /* NULL is fine */

#endif
