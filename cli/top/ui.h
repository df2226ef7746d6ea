/* The thread that draws the screen and reads keys. */
#ifndef SPROF_UI_H
#define SPROF_UI_H

#include "output/live/live.h"
#include "output/tree/ranking.h"

struct live_question;
struct model;
struct ui;

struct ui_opts {
	const char *target; /* in words; may hold any bytes */
	uint32_t window_s;
	const struct live_question *question; /* what is shown first */
	enum ranking_key key;
	bool has_program; /* sprof started the program that is sampled */
};

/* Starts the thread; the screen must have been taken. `opts` must outlive it. 0 or -errno. */
int ui_start(struct model *model, const struct ui_opts *opts, struct ui **ret_ui);
/* Ends the thread, and does not give the screen back. NULL is fine. */
void ui_stop(struct ui *ui);

#endif
