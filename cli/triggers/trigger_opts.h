/* The options of triggers: sprof record --continuous --trigger. */
#ifndef SPROF_TRIGGER_OPTS_H
#define SPROF_TRIGGER_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/triggers/trigger_spec.h"

struct trigger_opts {
	struct trigger_specs specs;
	uint64_t keep_ns;   /* how much of the time before is kept for good */
	uint64_t for_ns;    /* how long an incident lasts */
	uint64_t max_bytes; /* of all that is kept for good */
	uint32_t freq_hz;   /* the rate during an incident */
	bool is_detailed;   /* one of the options above was given */
};

#define TRIGGER_DEFAULTS                                                                           \
	{                                                                                          \
		.keep_ns = 300ull * 1000000000, .for_ns = 120ull * 1000000000,                     \
		.max_bytes = 1ull << 30, .freq_hz = 999,                                           \
	}

/* Its input is a struct trigger_opts. */
extern const struct argp trigger_argp;

#endif
