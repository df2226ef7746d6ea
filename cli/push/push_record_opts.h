/* The options of sprof record that push: where to, and how often. */
#ifndef SPROF_PUSH_RECORD_OPTS_H
#define SPROF_PUSH_RECORD_OPTS_H

#include <stdint.h>

#include "cli/push/push_opts.h"

struct push_record_opts {
	const char *url; /* NULL: nothing is pushed */
	uint64_t every_ns;
	struct push_opts opts;
};

#define PUSH_RECORD_DEFAULT                                                                        \
	{                                                                                          \
		.every_ns = 15000000000, .opts = PUSH_OPTS_DEFAULT,                                \
	}

/* Its input is a struct push_record_opts. */
extern const struct argp push_record_argp;

#endif
