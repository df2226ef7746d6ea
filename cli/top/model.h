/*
 * What the threads of sprof top share. The main thread samples; a second one makes answers
 * (output/live/answer.h) from the samples; a third one draws the latest answer and reads keys, so
 * it waits for neither. Functions lock; headings say which thread calls them.
 */
#ifndef SPROF_MODEL_H
#define SPROF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/live/answer.h"

struct buffer;
struct live;
struct model;

/*
 * Shows `live`, which grows; or, if that is NULL, `fixed`, a profile from a file, which the model
 * frees.
 */
struct model *model_new(struct live *live, struct profile *fixed,
			const struct live_question *question);
/* Ends its thread. NULL is fine. */
void model_free(struct model *m);
/* Starts the thread that makes answers. 0 or -errno. */
int model_start(struct model *m);

/* ---- for the thread that draws */

/* Becomes readable when there is something new to draw: an answer, a message, the end. */
int model_wake_fd(const struct model *m);
void model_clear_wake(struct model *m);
/* Any thread: makes model_wake_fd() readable. */
void model_wake(struct model *m);
/* Asks another question; the answer comes as soon as it is made. */
void model_ask(struct model *m, const struct live_question *question);
/* Returns the answer that came since the last call, which the caller frees; NULL: none came. */
struct live_answer *model_take(struct model *m);
/* While paused, questions are answered from what was sampled before. */
void model_pause(struct model *m, bool paused);

enum model_state {
	MODEL_SAMPLING,
	MODEL_ENDED, /* the targets have ended, or sampling has failed */
	MODEL_FILE,  /* a file is shown, nothing is sampled */
};

struct model_status {
	enum model_state state;
	bool paused;
	double own_percent; /* CPU time of sprof itself, in percent of a CPU */
	char text[512];	    /* the last message; "" = none */
	uint64_t text_ns;   /* when it came */
};

void model_status(struct model *m, struct model_status *ret);

enum model_order {
	ORDER_NONE,
	ORDER_RESET, /* forget the samples */
	ORDER_SAVE,  /* write them to a file */
	ORDER_QUIT,
	ORDER_QUIT_END, /* quit, and end the program that sprof started */
};

/* Asks the main thread for something; `path` is copied. */
void model_order(struct model *m, enum model_order order, const char *path);

/* ---- for the main thread */

/* Takes the last order, if any; the caller frees *ret_path. */
enum model_order model_take_order(struct model *m, char **ret_path);
void model_set_state(struct model *m, enum model_state state);
/* Any thread: shows the user a line of clean text. */
void model_say(struct model *m, const char *line);
/* Any thread: says that names or samples have come, so that another answer is worth making. */
void model_has_news(struct model *m);
/* Copies the profile that the picture shows: the present one, or the paused one. */
struct profile *model_copy(struct model *m, struct live_state *ret_state);
/* Appends all messages, to be printed after the screen is gone. */
void model_add_messages(struct model *m, struct buffer *b);

#endif
