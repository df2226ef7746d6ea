/* The options of the flight recorder: sprof record --continuous. */
#ifndef SPROF_CONTINUOUS_OPTS_H
#define SPROF_CONTINUOUS_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/triggers/trigger_opts.h"

struct continuous_opts {
	const char *path;    /* the folder; NULL: not asked for */
	uint64_t segment_ns; /* how long a segment is */
	uint64_t keep_ns;    /* how long it is kept; 0: without a limit */
	uint64_t max_bytes;  /* of the folder; 0: without a limit */
	bool is_limited;     /* one of the options above but the folder was given */
	struct trigger_opts triggers;
};

#define CONTINUOUS_DEFAULTS                                                                        \
	{                                                                                          \
		.segment_ns = 60ull * 1000000000, .keep_ns = 24ull * 3600 * 1000000000,            \
		.max_bytes = 2ull << 30, .triggers = TRIGGER_DEFAULTS,                             \
	}

/* A child of record's struct argp; its input is a struct continuous_opts. */
extern const struct argp continuous_argp;

#endif
