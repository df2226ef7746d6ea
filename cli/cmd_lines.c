/* sprof lines: prints which source lines take the time, for Python and for native code. */
#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/filter_opts.h"
#include "cli/options/idle_opts.h"
#include "cli/input/load.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "cli/input/view.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "core/recording/recfile.h"
#include "output/select/filter.h"
#include "output/select/idle.h"
#include "output/report/lines_table.h"
#include "output/tree/tree.h"

enum { OPTION_JSON = 0x100, OPTION_KERNPROF, DEFAULT_FUNCTIONS = 10 };

struct cmd_lines_opts {
	const char *input, *output;
	char *source; /* SOURCE of SOURCE:FUNCTION, owned; what[] points into it */
	bool json, rows_given;
	enum ranking_key key;
	struct lines_opts what;
	struct tree_opts tree;
	struct filter *filter;
	struct idle *idle;
};

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "The recording (default: sprof.data)", 0 },
	{ "output", 'o', "FILE", 0, "Write here (default: standard output)", 0 },
	{ VIEW_COLUMN_OPTION,
	  "What to show: cpu, gpu, gpu-idle, launches, ... (default: wall-clock time if there are "
	  "waits, else CPU)",
	  0 },
	{ "sort", 's', "self|total", 0,
	  "Rank functions by their own time (default), or including all they call", 0 },
	{ "rows", 'n', "FUNCTIONS", 0,
	  "Print at most so many functions, 0 = all (default: 10; all that match a SOURCE, and "
	  "with --json)",
	  0 },
	{ "kernprof", OPTION_KERNPROF, NULL, 0,
	  "Print the columns of line_profiler; what sampling cannot know is a dash", 0 },
	{ "json", OPTION_JSON, NULL, 0, "For programs: one JSON object, see sprof-lines(1)", 0 },
	{ 0 }
};

/*
 * Splits SOURCE, SOURCE:FUNCTION or :FUNCTION at the first colon: names of C++ functions hold
 * colons too.
 */
static void parse_what(char *arg, struct cmd_lines_opts *o, struct argp_state *state)
{
	char *colon;

	if (o->source)
		argp_error(state, "one SOURCE at a time; -i names the recording");
	o->source = xstrdup(arg);
	colon = strchr(o->source, ':');
	o->what.source = o->source;
	if (!colon)
		return;
	*colon = '\0';
	if (!colon[1])
		argp_error(state, "'%s' names no function after the colon", arg);
	o->what.function = colon + 1;
}

static bool is_recording(const char *path)
{
	FILE *f = fopen(path, "re");
	char head[8];
	size_t n;

	if (!f)
		return false;
	n = fread(head, 1, sizeof(head), f);
	fclose(f);
	return n == sizeof(head) && recfile_is_recording(head, n);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_lines_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->filter;
		state->child_inputs[1] = &o->idle;
		return 0;
	case 'i':
		if (o->input)
			argp_error(state, "one recording at a time: '%s' or '%s'", o->input, arg);
		o->input = arg;
		return 0;
	case 'o': o->output = arg; return 0;
	case 's': o->key = view_sorts_by_total(arg, state) ? RANKING_TOTAL : RANKING_SELF; return 0;
	case 'n':
		o->what.max_functions = view_parse_rows(arg, "functions", state);
		o->rows_given = true;
		return 0;
	case VIEW_KEY_COLUMN: view_parse_column(arg, state, &o->tree); return 0;
	case OPTION_JSON: o->json = true; return 0;
	case OPTION_KERNPROF: o->what.kernprof = true; return 0;
	case ARGP_KEY_ARG:
		if (!o->input && is_recording(arg))
			o->input = arg;
		else
			parse_what(arg, o, state);
		return 0;
	case ARGP_KEY_END:
		if (o->json && o->what.kernprof)
			argp_error(state, "--json and --kernprof exclude each other");
		if (!o->rows_given)
			o->what.max_functions = o->json || o->source ? 0 : DEFAULT_FUNCTIONS;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[RECORDING] [SOURCE[:FUNCTION]]",
	"Prints the time of each source line in a recording: its own (Self) and including all it "
	"called (Total), and the kind of code that this time ended in. SOURCE is the end of a "
	"path, FUNCTION a name with or without its scope; without them, the most expensive "
	"functions are shown. Lines come from debug information, or from Python itself.\v"
	"Examples:\n"
	"  sprof lines\n"
	"  sprof lines train.py:training_step\n"
	"  sprof lines --kernprof -i other.data model.py\n",
	(const struct argp_child[]){
		{ &filter_argp, 0, "Filters:", 1 }, { &idle_argp, 0, NULL, 1 }, { 0 } },
	NULL,
	NULL,
};

/* Says why there is nothing to show. */
static int nothing(const struct cmd_lines_opts *o, const struct lines *lines)
{
	const char *input = o->input ? o->input : LOAD_DEFAULT_PATH;

	if (!o->source || !lines->nr_functions) {
		log_error(0,
			  "show lines of '%s': none of its code says which source file it is from",
			  input);
		log_hint("compile with -g, or install the debug packages (-dbgsym, -dbg)");
	} else {
		log_error(0, "show lines of '%s': no sample lies in '%s%s%s'", input,
			  o->what.source, o->what.function ? ":" : "",
			  o->what.function ? o->what.function : "");
		log_hint("sprof lines -n 0 lists every function that has lines");
	}
	return 1;
}

static int print_lines(const struct cmd_lines_opts *o, const struct view *v)
{
	const struct profile_meta *meta = &v->profile->meta;
	const struct terminal t = terminal_of(o->output);
	struct lines_opts what = o->what;
	struct buffer b = { 0 };
	struct lines lines;
	size_t nr;
	int err = 0;

	what.columns = t.columns;
	what.unicode = t.unicode;
	what.color = t.color;
	what.recorded_ns =
		meta->start_realtime_ns ? meta->start_realtime_ns + v->summary.duration_ns : 0;
	lines_init(&lines, v->profile, v->summary.column, o->key);
	nr = (o->json ? lines_json_write : lines_table_write)(&b, &lines, &v->summary, &what);
	if (!o->json)
		terminal_fold(&t, &b);
	/* A program that reads JSON gets an empty list. */
	err = nr || o->json ? view_write(o->output, &b) : nothing(o, &lines);
	buffer_fini(&b);
	lines_fini(&lines);
	return err ? 1 : 0;
}

static int lines_main(int argc, char **argv)
{
	struct cmd_lines_opts o = { .key = RANKING_SELF };
	struct view v;
	int err;

	parse_args(&argp, argc, argv, &o);
	err = view_load_busy(o.input, o.filter, o.idle, &v);
	if (!err)
		err = view_build(&v, o.input, &o.tree);
	filter_free(o.filter);
	idle_free(o.idle);
	if (!err) {
		if (o.what.kernprof && v.summary.info->unit != UNIT_NS) {
			log_error(0, "print times of '%s': %s is not a time",
				  o.input ? o.input : LOAD_DEFAULT_PATH, v.summary.info->title);
			err = 1;
		} else {
			err = print_lines(&o, &v);
		}
	}
	view_close(&v);
	free(o.source);
	return err ? 1 : 0;
}

const struct command cmd_lines = {
	.name = "lines",
	.argp = &argp,
	.help = "print which source lines take the time",
	.main = lines_main,
};
