/* The URL is parsed last, because --receiver decides how it is read. */
#include "cli/push/push_record_opts.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/options/duration.h"

#define EVERY_MIN_NS 1000000000u /* a recording is written once a second */

enum { OPT_PUSH = 0x780, OPT_PUSH_EVERY };

static const struct argp_option options[] = {
	{ "push", OPT_PUSH, "URL", 0,
	  "Send what is sampled to an engine that stores profiles, as sprof push does, while "
	  "recording",
	  0 },
	{ "push-every", OPT_PUSH_EVERY, "TIME", 0, "Push this often (default: 15s)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct push_record_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->opts; return 0;
	case OPT_PUSH: o->url = arg; return 0;
	case OPT_PUSH_EVERY:
		o->every_ns = duration_argument(arg, state);
		if (o->every_ns < EVERY_MIN_NS)
			argp_error(state, "--push-every takes at least 1s");
		o->opts.given = true;
		return 0;
	case ARGP_KEY_END:
		if (o->url)
			push_opts_set_url(&o->opts, o->url, state);
		else if (o->opts.given)
			argp_error(state, "--label, --spool and the like need --push URL");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp push_record_argp = {
	.options = options,
	.parser = parse,
	.children = (const struct argp_child[]){ { &push_opts_argp, 0, NULL, 0 }, { 0 } },
};
