/* The struct idle is made at the first of the options. */
#include "cli/options/idle_opts.h"

#include "output/select/idle.h"

enum { OPTION_IDLE = 0xa00, OPTION_IDLE_IN };

static const struct argp_option options[] = {
	{ "idle", OPTION_IDLE, NULL, 0,
	  "Show waits of idle threads too: in accept(), in event loops, in queues of workers", 0 },
	{ "idle-in", OPTION_IDLE_IN, "RE", 0,
	  "Such functions are loops of idle threads too: what they themselves wait for is folded "
	  "away",
	  0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct idle **idle = state->input;
	char why[256];

	if (key != OPTION_IDLE && key != OPTION_IDLE_IN)
		return ARGP_ERR_UNKNOWN;
	if (!*idle)
		*idle = idle_new();
	if (key == OPTION_IDLE)
		idle_show(*idle);
	else if (idle_add_loop(*idle, arg, why, sizeof(why)))
		argp_error(state, "cannot take '%s' for loops: %s", arg, why);
	return 0;
}

const struct argp idle_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
