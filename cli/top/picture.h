/* What the screen shows, and where the user is in it. ui.c changes it, draw.c draws it. */
#ifndef SPROF_PICTURE_H
#define SPROF_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/top/model.h"
#include "core/base/buffer.h"
#include "output/live/answer.h"
#include "output/tree/ranking.h"

struct ui_opts;

enum screen_page { PAGE_ROWS, PAGE_DETAIL, PAGE_HELP };

/* What the user is typing a line of text for. */
enum prompt { PROMPT_NONE, PROMPT_FOCUS, PROMPT_SEARCH, PROMPT_SAVE, PROMPT_QUIT };

struct picture {
	const struct ui_opts *opts;
	struct live_answer *answer; /* NULL: there is none yet */
	struct ranking ranking;	    /* rows of the answer */
	struct model_status status;
	struct live_question question;
	enum ranking_key key;
	enum screen_page page;
	uint32_t selected, top; /* rows */
	char *selected_name;	/* of the row that the user chose; NULL: the first one */
	char *selected_module;
	uint32_t detail_top, help_top, nr_detail_lines;
	enum prompt prompt;
	struct buffer input; /* what was typed so far */
	char *search;	     /* NULL: nothing was searched for */
	char why[256];	     /* why the last key did nothing; "" = it worked */
};

void picture_init(struct picture *p, const struct ui_opts *opts);
void picture_fini(struct picture *p);
/* Takes over an answer. */
void picture_set(struct picture *p, struct live_answer *answer);
/* Ranks the rows again, after the sort key has changed. */
void picture_rank(struct picture *p);
/* Selects a row, which stays selected in later answers. */
void picture_select(struct picture *p, uint32_t row);
/* Selects the next or previous row whose name contains p->search. False: there is none. */
bool picture_search(struct picture *p, bool backward);

#endif
