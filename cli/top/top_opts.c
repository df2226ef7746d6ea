/*
 * What is sampled, and how, is parsed as for sprof record; a single argument that is a file but not
 * a program is a recording to show.
 */
#include "cli/top/top_opts.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/view.h"
#include "cli/options/duration.h"
#include "cli/options/parse_args.h"
#include "cli/record/sampling_opts.h"
#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "core/profile/gpu_kinds.h"
#include "output/select/dimension.h"
#include "output/select/pattern.h"

enum {
	OPTION_ONCE = 0x100,
	OPTION_BY,
	OPTION_SORT,
	OPTION_FOCUS,
	DEFAULT_WINDOW_S = 60,
	MAX_WINDOW_S = 3600,
	DEFAULT_ROWS = 40,
};

static const struct argp_option options[] = {
	{ "window", 'w', "TIME", 0,
	  "Show the samples of the last TIME, up to an hour (default: 60s); 0: all since the start",
	  0 },
	{ "once", OPTION_ONCE, NULL, 0,
	  "Print the table once and end: after --duration (default: 5s), or with the program", 0 },
	{ "rows", 'n', "ROWS", 0, "With --once: print at most so many rows, 0 = all (default: 40)",
	  0 },
	{ "by", OPTION_BY, "function|line|module|thread|process", 0,
	  "What the rows are (default: function)", 0 },
	{ "sort", OPTION_SORT, "self|total", 0,
	  "Rank rows by their own time (default), or including all they call", 0 },
	{ VIEW_COLUMN_OPTION, "What to show first: cpu, waiting, gpu, ... (as sprof report)", 0 },
	{ "focus", OPTION_FOCUS, "REGEX", 0, "Keep only stacks with a function that matches", 0 },
	{ 0 }
};

static void parse_window(const char *text, struct top_opts *o, struct argp_state *state)
{
	uint64_t ns = strcmp(text, "0") ? duration_argument(text, state) : 0;

	if (ns > MAX_WINDOW_S * 1000000000ull || (ns && ns < 1000000000ull))
		argp_error(state, "'%s' is neither 0 nor a time from 1s to 1h", text);
	o->window_s = (uint32_t)((ns + 999999999) / 1000000000);
}

static void parse_by(const char *text, struct top_opts *o, struct argp_state *state)
{
	static const char *const names[] = { "function", "line", "module", "thread", "process" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i])) {
			o->question.by = dimension_find(text);
			return;
		}
	argp_error(state, "cannot show '%s', only function, line, module, thread, process", text);
}

static void parse_column(const char *text, struct top_opts *o, struct argp_state *state)
{
	enum profile_column column = column_find(text);

	if (column == NR_COLUMNS)
		argp_error(state, "there is no column '%s'", text);
	o->question.column_given = true;
	o->question.column = column;
}

static void parse_focus(const char *text, struct top_opts *o, struct argp_state *state)
{
	struct pattern pattern;
	char why[256];

	if (pattern_init(&pattern, text, why, sizeof(why)))
		argp_error(state, "'%s': %s", text, why);
	pattern_fini(&pattern);
	free(o->question.focus);
	o->question.focus = xstrdup(text);
}

/*
 * Shows a folder of segments, or a file that is not executable; after "--" comes always a program.
 */
static void take_argument(const char *arg, struct top_opts *o, struct argp_state *state)
{
	bool is_only = state->next == state->argc && !state->quoted;
	struct stat st;

	if (is_only && !stat(arg, &st) &&
	    (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && access(arg, X_OK))))
		o->file = arg;
	else
		sampling_opts_take_program(&o->record, state);
}

static void check(struct top_opts *o, struct argp_state *state)
{
	const struct record_opts *r = &o->record;

	if (!o->file) {
		sampling_opts_check(&o->record, state);
		return;
	}
	if (r->nr_pids || r->nr_names || r->system_wide || r->nr_cgroups || r->by_user)
		argp_error(state, "look at '%s' or at what runs: one at a time", o->file);
	if (r->freq_hz || r->duration_ns || r->clock != CLOCK_CPU || r->latency || r->wakers ||
	    r->wait_period_ns)
		argp_error(state, "'%s' has been recorded already: how is not for sprof top to say",
			   o->file);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->record; return 0;
	case 'w': parse_window(arg, o, state); return 0;
	case OPTION_ONCE: o->once = true; return 0;
	case 'n': o->rows = view_parse_rows(arg, "rows", state); return 0;
	case OPTION_BY: parse_by(arg, o, state); return 0;
	case OPTION_SORT:
		o->key = view_sorts_by_total(arg, state) ? RANKING_TOTAL : RANKING_SELF;
		return 0;
	case VIEW_KEY_COLUMN: parse_column(arg, o, state); return 0;
	case OPTION_FOCUS: parse_focus(arg, o, state); return 0;
	case ARGP_KEY_ARG: take_argument(arg, o, state); return 0;
	case ARGP_KEY_END: check(o, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp top_argp = {
	.options = options,
	.parser = parse,
	.children = (const struct argp_child[]){ { &sampling_argp, 0, NULL, 0 }, { 0 } },
	.args_doc = "-p PID|NAME\n--cgroup PATH\n-u USER\n-a\nPROG [ARG...]\nFILE",
	.doc = "Samples what the CPU runs and shows, while it runs, which functions take the time; "
	       "h on the screen lists its keys. Where standard output is no terminal, the table is "
	       "printed once.\v"
	       "Examples:\n"
	       "  sprof top -p 1234\n"
	       "  sprof top -p nginx --clock wall\n"
	       "  sprof top -a -w 10s\n"
	       "  sprof top --once -d 2s -p 1234\n",
};

void top_opts_parse(int argc, char **argv, struct top_opts *o)
{
	*o = (struct top_opts){
		.record = {
			.source = "auto",
			.event = "auto",
			.gpu.kinds = GPU_KINDS_DEFAULT,
		},
		.window_s = DEFAULT_WINDOW_S,
		.rows = DEFAULT_ROWS,
		.question.by = dimension_table,
	};
	parse_args(&top_argp, argc, argv, o);
}

void top_opts_fini(struct top_opts *o)
{
	live_question_fini(&o->question);
	record_opts_fini(&o->record);
}
