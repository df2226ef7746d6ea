/* Limits that contradict each other are refused: a segment must be shorter than what is kept. */
#include "cli/continuous/continuous_opts.h"

#include <string.h>

#include "cli/options/byte_size.h"
#include "cli/options/duration.h"

#define MIN_SEGMENT_NS 100000000ull
#define MAX_SEGMENT_NS (3600ull * 1000000000)

enum { OPT_CONTINUOUS = 0x900, OPT_SEGMENT, OPT_KEEP, OPT_MAX_SIZE };

static const struct argp_option options[] = {
	{ "continuous", OPT_CONTINUOUS, "DIR", 0,
	  "Record until told to stop, into segments in this folder, which every command reads as "
	  "one recording (--from -2h --to -1h for a part)",
	  0 },
	{ "segment", OPT_SEGMENT, "TIME", 0,
	  "How long a segment is (default: 60s); SIGHUP begins a new one at once", 0 },
	{ "keep", OPT_KEEP, "TIME", 0,
	  "Delete segments that are older than this (default: 24h); all: keep them", 0 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0,
	  "Delete the oldest segments where the folder is larger (default: 2G); all: keep them",
	  0 },
	{ 0 }
};

static void check(const struct continuous_opts *o, struct argp_state *state)
{
	if (!o->path && o->is_limited)
		argp_error(state, "--segment, --keep and --max-size need --continuous DIR");
	if (!o->path && o->triggers.specs.nr)
		argp_error(state, "--trigger needs --continuous DIR");
	if (o->segment_ns < MIN_SEGMENT_NS || o->segment_ns > MAX_SEGMENT_NS)
		argp_error(state, "a segment is between 100ms and 1h long");
	if (o->keep_ns && o->keep_ns < o->segment_ns)
		argp_error(state, "--keep is less than --segment");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct continuous_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->triggers; return 0;
	case OPT_CONTINUOUS: o->path = arg; return 0;
	case OPT_SEGMENT: o->segment_ns = duration_argument(arg, state); break;
	case OPT_KEEP: o->keep_ns = strcmp(arg, "all") ? duration_argument(arg, state) : 0; break;
	case OPT_MAX_SIZE:
		o->max_bytes = strcmp(arg, "all") ? byte_size_argument(arg, state) : 0;
		break;
	case ARGP_KEY_END: check(o, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
	o->is_limited = true;
	return 0;
}

const struct argp continuous_argp = {
	.options = options,
	.parser = parse,
	.children = (const struct argp_child[]){ { &trigger_argp, 0, NULL, 0 }, { 0 } },
};
