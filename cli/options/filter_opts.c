/* The filter is made at the first filter option, so it stays NULL on a command line without any. */
#include "cli/options/filter_opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/moment.h"
#include "output/select/filter.h"
#include "output/select/live_choice.h"

enum {
	OPTION_FOCUS = 0x700,
	OPTION_IGNORE,
	OPTION_HIDE,
	OPTION_SHOW_FROM,
	OPTION_MODULE,
	OPTION_KIND,
	OPTION_FROM,
	OPTION_TO,
	OPTION_THREAD,
	OPTION_COMM,
	OPTION_PID,
	OPTION_COLLAPSE_NOISE,
	OPTION_GIL,
	OPTION_EVENT,
	OPTION_LABEL,
	OPTION_AT,
	OPTION_PEAK,
	OPTION_LEAKS,
	OPTION_ON,
};

static const struct argp_option options[] = {
	{ "focus", OPTION_FOCUS, "RE", 0, "Keep only stacks with a function whose name matches",
	  0 },
	{ "ignore", OPTION_IGNORE, "RE", 0, "Leave out stacks with such a function", 0 },
	{ "hide", OPTION_HIDE, "RE", 0,
	  "Leave such functions out; their time goes to their callers", 0 },
	{ "show-from", OPTION_SHOW_FROM, "RE", 0,
	  "Begin stacks at such a function; leave out stacks without one", 0 },
	{ "collapse-noise", OPTION_COLLAPSE_NOISE, NULL, 0,
	  "Hide plumbing of Python: the interpreter's calls, importlib, runpy, contextlib, "
	  "functools, Module._call_impl, ...",
	  0 },
	{ "module", OPTION_MODULE, "RE", 0,
	  "Keep only stacks through such modules (--focus mod:RE)", 0 },
	{ "kind", OPTION_KIND, "RE", 0,
	  "Keep only stacks through native, kernel, jit, python, gpu ... code (--focus kind:RE)",
	  0 },
	{ "from", OPTION_FROM, "TIME", 0,
	  "Keep only what happened this long after the recording began (10, 10s, 250ms, 2m), this "
	  "long before it ended (-2h), or since that time of day (2026-11-23T19:05, in UTC with Z)",
	  0 },
	{ "to", OPTION_TO, "TIME", 0, "Keep only what happened before that time", 0 },
	{ "on", OPTION_ON, "HOST", 0, "Keep only what was recorded on this host", 0 },
	{ "thread", OPTION_THREAD, "TID|RE", 0, "Keep only these threads, by number or name", 0 },
	{ "comm", OPTION_COMM, "RE", 0, "Keep only threads of such a name", 0 },
	{ "gil", OPTION_GIL, NULL, 0,
	  "Keep only samples whose thread held Python's global interpreter lock", 0 },
	{ "pid", OPTION_PID, "PID[,PID]", 0, "Keep only these processes", 0 },
	{ "event", OPTION_EVENT, "NAME", 0,
	  "Keep only samples of this event, of a recording or a file of perf with several (default "
	  "for perf: the event with the most samples)",
	  0 },
	{ "label", OPTION_LABEL, "KEY=VALUE", 0,
	  "Keep only samples with this label, as pprof has them", 0 },
	{ "at", OPTION_AT, "TIME", 0,
	  "Of sampled memory, show what was live at that moment (default: at the end); TIME as for "
	  "--from",
	  0 },
	{ "peak", OPTION_PEAK, NULL, 0,
	  "Of sampled memory, show what was live when that was most, of all processes together",
	  0 },
	{ "leaks", OPTION_LEAKS, "FROM,TO", OPTION_ARG_OPTIONAL,
	  "Of sampled memory, show what was allocated between these moments and not freed until "
	  "the end (default: in the second third of the recording)",
	  0 },
	{ 0 }
};

static struct moment parse_time(const char *text, struct argp_state *state)
{
	struct moment m = { 0 };

	if (!moment_parse(text, &m))
		argp_error(state, "'%s' is not a time such as 10, 2.5s, 2m, -2h, 2026-11-23T19:05",
			   text);
	return m;
}

static void parse_pids(struct filter *f, const char *text, struct argp_state *state)
{
	for (const char *at = text;; at++) {
		unsigned long pid;
		char *end;

		errno = 0;
		pid = strtoul(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno || pid > UINT32_MAX ||
		    (*end && *end != ','))
			argp_error(state, "'%s' is not a list of process numbers", text);
		filter_add_pid(f, (uint32_t)pid);
		at = end;
		if (!*at)
			return;
	}
}

static void parse_rule(struct filter *f, enum filter_rule rule, const char *prefix,
		       const char *text, struct argp_state *state)
{
	char why[256], *whole = xasprintf("%s%s", prefix, text);

	if (filter_add_rule(f, rule, whole, why, sizeof(why)))
		argp_error(state, "cannot filter by '%s': %s", text, why);
	free(whole);
}

static void parse_comm(int (*add)(struct filter *, const char *, char *, size_t), struct filter *f,
		       const char *text, struct argp_state *state)
{
	char why[256];

	if (add(f, text, why, sizeof(why)))
		argp_error(state, "cannot filter by '%s': %s", text, why);
}

static void parse_label(struct filter *f, const char *label, struct argp_state *state)
{
	int err = filter_add_label(f, label);

	if (err)
		argp_error(state,
			   err == -EINVAL ? "a label is KEY=VALUE, not '%s'"
					  : "label '%s' is one too many",
			   label);
}

static struct moment parse_live_time(const char *text, struct argp_state *state)
{
	struct moment m = parse_time(text, state);

	if (m.kind == MOMENT_OF_MARK)
		argp_error(state, "'%s': only segments have marks, and they hold no sampled memory",
			   text);
	return m;
}

static void parse_live(struct filter *f, int key, char *arg, struct argp_state *state)
{
	struct live_choice choice = { .kind = key == OPTION_AT	   ? LIVE_AT
					      : key == OPTION_PEAK ? LIVE_AT_PEAK
								   : LIVE_LEAKS };
	char *comma = key == OPTION_LEAKS && arg ? strchr(arg, ',') : NULL;

	if (filter_has_live(f))
		argp_error(state, "one of --at, --peak and --leaks");
	if (key == OPTION_LEAKS && arg && !comma)
		argp_error(state, "'%s' is not FROM,TO: two times, such as 10s,2m", arg);
	if (comma) {
		*comma = '\0';
		choice.to = parse_live_time(comma + 1, state);
	}
	if (arg)
		choice.from = parse_live_time(arg, state);
	filter_set_live(f, &choice);
}

static void check(const struct filter *f, struct argp_state *state)
{
	if (filter_has_no_time(f))
		argp_error(state, "nothing lies between --from and --to");
	if (filter_has_live(f) &&
	    (filter_from(f).kind != MOMENT_NOT_SET || filter_to(f).kind != MOMENT_NOT_SET))
		argp_error(state, "--at, --peak and --leaks name the time themselves: they take no "
				  "--from and --to");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct filter **filter = state->input, *f;

	if (key == ARGP_KEY_END && *filter)
		check(*filter, state);
	if (key < OPTION_FOCUS || key > OPTION_ON)
		return ARGP_ERR_UNKNOWN;
	f = *filter = *filter ? *filter : filter_new();
	switch (key) {
	case OPTION_FOCUS: parse_rule(f, FILTER_FOCUS, "", arg, state); break;
	case OPTION_IGNORE: parse_rule(f, FILTER_IGNORE, "", arg, state); break;
	case OPTION_HIDE: parse_rule(f, FILTER_HIDE, "", arg, state); break;
	case OPTION_SHOW_FROM: parse_rule(f, FILTER_SHOW_FROM, "", arg, state); break;
	case OPTION_MODULE: parse_rule(f, FILTER_FOCUS, "mod:", arg, state); break;
	case OPTION_KIND: parse_rule(f, FILTER_FOCUS, "kind:", arg, state); break;
	case OPTION_FROM: filter_set_from(f, parse_time(arg, state)); break;
	case OPTION_TO: filter_set_to(f, parse_time(arg, state)); break;
	case OPTION_THREAD: parse_comm(filter_add_thread, f, arg, state); break;
	case OPTION_COMM: parse_comm(filter_add_comm, f, arg, state); break;
	case OPTION_COLLAPSE_NOISE: filter_hide_noise(f); break;
	case OPTION_GIL: filter_hold_gil(f); break;
	case OPTION_EVENT: filter_set_event(f, arg); break;
	case OPTION_LABEL: parse_label(f, arg, state); break;
	case OPTION_PID: parse_pids(f, arg, state); break;
	case OPTION_AT:
	case OPTION_PEAK:
	case OPTION_LEAKS: parse_live(f, key, arg, state); break;
	case OPTION_ON: filter_set_host(f, arg); break;
	}
	return 0;
}

const struct argp filter_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
