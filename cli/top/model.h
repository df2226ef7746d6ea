/*
 * What the threads of sprof top share. The main thread samples; one thread makes answers
 * (output/live/answer.h) from what was sampled; one thread draws the latest answer and reads keys,
 * and so never waits for either. Functions lock; each says which thread calls it.
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
 * `live` is what grows; or NULL, and `fixed` is a profile that is only looked at, which the model
 * frees.
 */
struct model *model_new(struct live *live, struct profile *fixed,
			const struct live_question *question);
/* Ends its thread. NULL is fine. */
void model_free(struct model *m);
/* Starts the thread that makes answers. 0 or -errno. */
int model_start(struct model *m);

/* ---- for the thread that draws */

/* Becomes readable when something is to be drawn: a new answer, a message, the end. */
int model_wake_fd(const struct model *m);
void model_clear_wake(struct model *m);
/* Any thread: makes it readable. */
void model_wake(struct model *m);
/* Asks for another answer, which comes as soon as it is made. */
void model_ask(struct model *m, const struct live_question *question);
/* The answer that came since the last call, now the caller's; NULL: there is none. */
struct live_answer *model_take(struct model *m);
/* A paused picture stays as it is; questions are answered from what was sampled before. */
void model_pause(struct model *m, bool paused);

enum model_state {
	MODEL_SAMPLING,
	MODEL_ENDED, /* the targets have ended, or what samples them has failed */
	MODEL_FILE,  /* nothing is sampled: a file is looked at */
};

struct model_status {
	enum model_state state;
	bool paused;
	double own_percent; /* CPU time of sprof itself, of one CPU */
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

/* Takes the order that was given, if any; the caller frees *ret_path. */
enum model_order model_take_order(struct model *m, char **ret_path);
void model_set_state(struct model *m, enum model_state state);
/* Any thread: shows a line, clean text, to the user. */
void model_say(struct model *m, const char *line);
/* Any thread: names or samples have come, so that the next answer is worth making. */
void model_has_news(struct model *m);
/* Copies what the picture shows now: of the paused one, or of the present. */
struct profile *model_copy(struct model *m, struct live_state *ret_state);
/* Appends all lines that were said, for the terminal after the screen is gone. */
void model_add_messages(struct model *m, struct buffer *b);

#endif
