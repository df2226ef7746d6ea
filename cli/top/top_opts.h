/* The command line of sprof top: that of sprof record without options for the file. */
#ifndef SPROF_TOP_OPTS_H
#define SPROF_TOP_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/record/record_opts.h"
#include "output/live/answer.h"
#include "output/tree/ranking.h"

struct argp;

struct top_opts {
	struct record_opts record; /* what is sampled, and how */
	const char *file;	   /* the profile that is shown instead of a process; or NULL */
	uint32_t window_s;	   /* 0: since the start */
	bool once;
	uint32_t rows; /* rows of the table of --once; 0 = all */
	enum ranking_key key;
	struct live_question question; /* what is shown first */
};

extern const struct argp top_argp;

/* Fills opts, or ends the program with status 2 and a usage message. */
void top_opts_parse(int argc, char **argv, struct top_opts *opts);
void top_opts_fini(struct top_opts *opts);

#endif
