/* The options of sprof record that push: where to push, and how often. */
#ifndef SPROF_PUSH_RECORD_OPTS_H
#define SPROF_PUSH_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/push/push_opts.h"

struct push_record_opts {
	const char *url;   /* NULL: nothing is pushed */
	uint64_t every_ns; /* 0: not given */
	bool finished;	   /* recordings are pushed when they are finished */
	struct push_opts opts;
};

#define PUSH_RECORD_DEFAULT                                                                        \
	{                                                                                          \
		.opts = PUSH_OPTS_DEFAULT,                                                         \
	}

/* Its input is a struct push_record_opts. */
extern const struct argp push_record_argp;

#endif
