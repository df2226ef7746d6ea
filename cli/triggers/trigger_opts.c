/* --trigger may be given several times; the other options apply to all triggers. */
#include "cli/triggers/trigger_opts.h"

#include <stddef.h>

#include "cli/options/byte_size.h"
#include "cli/options/duration.h"
#include "cli/options/whole_number.h"

enum { OPT_TRIGGER = 0xa00, OPT_KEEP, OPT_RATE, OPT_FOR, OPT_MAX_SIZE };

static const struct argp_option options[] = {
	{ "trigger", OPT_TRIGGER, "KIND=LIMIT[,...]", 0,
	  "With --continuous: keep the last segments for good, sample more often and write a mark "
	  "when a limit is exceeded: cpu=90%:30s, memory=2G, psi=memory:some:20%, oom; of what is "
	  "recorded, or of a process or cgroup: cpu@PID=90%, oom@/shop.slice",
	  0 },
	{ "trigger-keep", OPT_KEEP, "TIME", 0,
	  "How much of the time before a trigger is kept for good (default: 5m)", 0 },
	{ "trigger-rate", OPT_RATE, "HZ", 0,
	  "Samples per second and CPU after a trigger (default: 999)", 0 },
	{ "trigger-for", OPT_FOR, "TIME", 0,
	  "How long it samples at --trigger-rate; that time is kept, too (default: 2m)", 0 },
	{ "trigger-max-size", OPT_MAX_SIZE, "SIZE", 0,
	  "Triggers keep nothing more once they have kept that much (default: 1G)", 0 },
	{ 0 }
};

static void add(const char *text, struct trigger_opts *o, struct argp_state *state)
{
	const char *wrong = trigger_specs_add(&o->specs, text);

	if (wrong)
		argp_error(state, "--trigger '%s': %s", text, wrong);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trigger_opts *o = state->input;

	switch (key) {
	case OPT_TRIGGER: add(arg, o, state); return 0;
	case OPT_KEEP: o->keep_ns = duration_argument(arg, state); break;
	case OPT_RATE: o->freq_hz = frequency_argument(arg, state); break;
	case OPT_FOR: o->for_ns = duration_argument(arg, state); break;
	case OPT_MAX_SIZE: o->max_bytes = byte_size_argument(arg, state); break;
	case ARGP_KEY_END:
		if (o->is_detailed && !o->specs.nr)
			argp_error(state, "--trigger-keep, -rate, -for and -max-size need "
					  "--trigger KIND=LIMIT");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
	o->is_detailed = true;
	return 0;
}

const struct argp trigger_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
