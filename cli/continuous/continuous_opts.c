/* Limits that make no sense are refused: a segment is shorter than what is kept. */
#include "cli/continuous/continuous_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/duration.h"

#define MIN_SEGMENT_NS 100000000ull
#define MAX_SEGMENT_NS (3600ull * 1000000000)
#define MIN_BYTES (1ull << 20)

enum { OPT_CONTINUOUS = 0x900, OPT_SEGMENT, OPT_KEEP, OPT_MAX_SIZE };

static const struct argp_option options[] = {
	{ "continuous", OPT_CONTINUOUS, "DIR", 0,
	  "Record until told to stop, into segments in this folder, which every command reads as "
	  "one recording (--from -2h --to -1h for a part)",
	  0 },
	{ "segment", OPT_SEGMENT, "TIME", 0,
	  "How long a segment is (default: 60s); SIGHUP begins a new one at once", 0 },
	{ "keep", OPT_KEEP, "TIME", 0,
	  "Delete segments that are older (default: 24h); all: keep them", 0 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0,
	  "Delete the oldest segments where the folder is larger (default: 2G); all: keep them",
	  0 },
	{ 0 }
};

static uint64_t parse_size(const char *text, struct argp_state *state)
{
	static const char units[] = "KMGT";
	const char *unit;
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		value *= (double)(1ull << 10 * (unit - units + 1));
		end++;
	}
	if (errno || end == text || *end || !(value >= (double)MIN_BYTES) || value > 1e18)
		argp_error(state, "'%s' is not a size such as 500M or 2G, 1M or more", text);
	return (uint64_t)value;
}

static void check(const struct continuous_opts *o, struct argp_state *state)
{
	if (!o->path && o->is_limited)
		argp_error(state, "--segment, --keep and --max-size need --continuous DIR");
	if (o->segment_ns < MIN_SEGMENT_NS || o->segment_ns > MAX_SEGMENT_NS)
		argp_error(state, "a segment is between 100ms and 1h long");
	if (o->keep_ns && o->keep_ns < o->segment_ns)
		argp_error(state, "--keep is less than --segment");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct continuous_opts *o = state->input;

	switch (key) {
	case OPT_CONTINUOUS: o->path = arg; return 0;
	case OPT_SEGMENT: o->segment_ns = duration_argument(arg, state); break;
	case OPT_KEEP: o->keep_ns = strcmp(arg, "all") ? duration_argument(arg, state) : 0; break;
	case OPT_MAX_SIZE: o->max_bytes = strcmp(arg, "all") ? parse_size(arg, state) : 0; break;
	case ARGP_KEY_END: check(o, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
	o->is_limited = true;
	return 0;
}

const struct argp continuous_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
