/*
 * sprof flame: draws the flame graph of a profile, as an SVG picture or as an HTML page. One
 * picture can hold several columns, and a tree of callers below it (a butterfly).
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options/filter_opts.h"
#include "cli/options/idle_opts.h"
#include "cli/input/view.h"
#include "cli/options/parse_args.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "output/select/dimension.h"
#include "output/select/filter.h"
#include "output/select/idle.h"
#include "output/flame/html.h"
#include "output/flame/svg.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

#define DEFAULT_OUTPUT "flame.svg"

enum { OPTION_NO_JS = 0x100, OPTION_HTML, OPTION_BUTTERFLY, OPTION_BY };

struct flame_opts {
	const char *input, *output, *title;
	bool no_js, html, column, butterfly;
	struct tree_opts tree;
	enum profile_column below; /* the lower half of a butterfly */
	const char *below_event;   /* as tree_opts.event */
	char *above; /* name of the upper column, on the heap; tree.event may point to it */
	struct svg_data_nodes *nodes; /* of the tree, if that is an outline */
	struct filter *filter;
	struct idle *idle;
	const struct dimension *by; /* NULL: not asked for */
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Write here: an SVG, or a page where the name ends in .html (default: standard output, "
	  "or " DEFAULT_OUTPUT " where that is a terminal)",
	  0 },
	{ "title", 't', "TEXT", 0, "Title of the picture (default: what was recorded)", 0 },
	{ VIEW_COLUMN_OPTION,
	  "What to show: cpu, gpu, gpu-idle, launches, ... (default: wall-clock time if there are "
	  "waits, else CPU); a page can be switched to the others",
	  0 },
	{ "butterfly", OPTION_BUTTERFLY, "UP,DOWN", 0,
	  "Two columns in one picture, such as cpu,gpu: one upward, the other downward from a "
	  "common line, each half as wide as the picture",
	  0 },
	{ "by", OPTION_BY, "WHAT", 0,
	  "Draw the stacks above a frame for each process, host, rank, cgroup, container, user, "
	  "thread, lock or reason of a wait; by module, file, line or kind, draw those instead of "
	  "functions",
	  0 },
	{ "html", OPTION_HTML, NULL, 0, "Write a page, whatever FILE is called", 0 },
	{ "no-js", OPTION_NO_JS, NULL, 0,
	  "Write only the static picture, without its script and data", 0 },
	{ 0 }
};

/* "cpu,gpu" */
static void parse_butterfly(const char *arg, struct argp_state *state, struct flame_opts *o)
{
	const char *comma = strchr(arg, ',');
	struct tree_opts below = { 0 };

	if (!comma)
		argp_error(state, "--butterfly takes two columns: cpu,gpu");
	free(o->above);
	o->above = xasprintf("%.*s", (int)(comma - arg), arg);
	view_parse_column(o->above, state, &o->tree);
	view_parse_column(comma + 1, state, &below);
	if (below.column == o->tree.column && (!below.event || !strcmp(below.event, o->tree.event)))
		argp_error(state, "--butterfly takes two different columns");
	o->below = below.column;
	o->below_event = below.event;
	o->butterfly = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct flame_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->filter;
		state->child_inputs[1] = &o->idle;
		return 0;
	case 'o': o->output = arg; return 0;
	case 't': o->title = arg; return 0;
	case VIEW_KEY_COLUMN:
		view_parse_column(arg, state, &o->tree);
		o->column = true;
		return 0;
	case OPTION_BUTTERFLY: parse_butterfly(arg, state, o); return 0;
	case OPTION_BY: o->by = view_parse_dimension(arg, state); return 0;
	case OPTION_HTML: o->html = true; return 0;
	case OPTION_NO_JS: o->no_js = true; return 0;
	case ARGP_KEY_END:
		if (o->butterfly && o->column)
			argp_error(state, "--butterfly names its columns: it takes no --column");
		o->html |= view_is_html(o->output);
		return 0;
	case ARGP_KEY_ARG: view_take_input(arg, state, &o->input); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[FILE]",
	"Draws the flame graph of a recording (default: sprof.data) or of collapsed stacks, as one "
	"SVG file or one page that any browser shows; - reads standard input.\v"
	"The width of a light box is the time spent in a function and all it calls; that of the "
	"dark cap on it is the time spent in the function itself.\n\n"
	"Examples:\n"
	"  sprof flame -o flame.svg\n"
	"  sprof flame --by process -o server.svg\n"
	"  sprof flame --butterfly cpu,gpu -o train.html\n"
	"  sprof flame -t 'before the change' old.data -o old.html\n"
	"  perf script | sprof flame - -o perf.svg\n",
	(const struct argp_child[]){
		{ &filter_argp, 0, "Filters:", 1 }, { &idle_argp, 0, NULL, 1 }, { 0 } },
	NULL,
	NULL,
};

/* Makes the tree of another column of the profile. The caller frees the tree. */
static int column_init(struct svg_column *column, const struct flame_opts *o, const struct view *v,
		       enum profile_column c)
{
	struct tree_opts opts = o->tree;
	struct tree *tree;
	int err;

	opts.column_given = true;
	opts.column = c;
	opts.event = NULL;
	opts.outline_parts = 0;
	err = tree_new(v->profile, &opts, &tree);
	if (err)
		return err;
	column->tree = tree;
	summary_init(&column->summary, v->profile, tree, v->note ? v->note : "");
	return 0;
}

/* Makes the trees of the other columns, between which a page can switch. Returns how many. */
static size_t add_columns(const struct flame_opts *o, const struct view *v,
			  struct svg_column *columns)
{
	bool present[NR_COLUMNS];
	size_t nr = 0;

	columns_present(v->profile, present);
	for (int c = 0; c < NR_COLUMNS && !o->no_js; c++)
		if (present[c] && (enum profile_column)c != v->tree->column &&
		    !column_init(&columns[nr], o, v, (enum profile_column)c))
			nr++;
	return nr;
}

static void write_page(struct buffer *b, const struct flame_opts *o, const struct view *v,
		       const struct svg_opts *svg)
{
	struct svg_column columns[NR_COLUMNS];
	size_t nr = add_columns(o, v, columns);

	html_write(b, v->tree, &v->summary, v->profile, columns, nr, svg);
	while (nr--)
		tree_free((struct tree *)columns[nr].tree);
}

/* Builds the lower half of a butterfly. Returns 0 or -errno, reported. */
static int open_below(const struct flame_opts *o, const struct view *v, struct svg_column *below)
{
	enum profile_column column = o->below;
	int err = 0;

	if (o->below_event)
		err = view_find_event(v->profile, o->below_event, o->input, &column);
	if (!err)
		err = view_check_column(v->profile, column, o->input);
	if (err)
		return err;
	err = column_init(below, o, v, column);
	if (err)
		log_error(-err, "add up the %s", column_info_of(v->profile, column)->title);
	return err;
}

static int write_picture(const struct flame_opts *o, const struct view *v)
{
	struct svg_column below = { 0 };
	struct buffer title = { 0 };
	struct svg_opts svg = {
		.without_script = o->no_js,
		.below = o->butterfly ? &below : NULL,
		.nodes = v->tree->outline ? o->nodes : NULL,
	};
	const char *default_output = o->html ? "flame.html" : DEFAULT_OUTPUT;
	bool to_default = !o->output && isatty(STDOUT_FILENO);
	struct buffer b = { 0 };
	int err = o->butterfly ? open_below(o, v, &below) : 0;

	if (err)
		return err;
	text_add_line(&title, o->title ? o->title : v->summary.command);
	svg.title = buffer_cstring(&title);
	if (o->html)
		write_page(&b, o, v, &svg);
	else
		svg_write(&b, v->tree, &v->summary, &svg);
	err = view_write(to_default ? default_output : o->output, &b);
	if (!err && to_default)
		log_info("wrote %s", default_output);
	tree_free((struct tree *)below.tree);
	buffer_fini(&title);
	buffer_fini(&b);
	return err;
}

static int flame_main(int argc, char **argv)
{
	struct flame_opts o = { 0 };
	struct view v;
	int err;

	parse_args(&argp, argc, argv, &o);
	err = view_load_busy(o.input, o.filter, o.idle, &v);
	filter_free(o.filter);
	idle_free(o.idle);
	if (err) {
		free(o.above);
		return 1;
	}
	/* The page draws a timeline, for which samples must belong to threads. */
	o.tree.sample_nodes = o.html && v.profile->nr_threads;
	if (!o.by) /* --by builds the tree twice */
		o.nodes = svg_outline(&o.tree);
	err = view_build_by(&v, o.input, &o.tree, o.by ? o.by->draw : NULL);
	if (!err)
		err = write_picture(&o, &v);
	free(o.above);
	svg_outline_free(o.nodes);
	view_close(&v);
	return err ? 1 : 0;
}

const struct command cmd_flame = {
	.name = "flame",
	.argp = &argp,
	.help = "draw the flame graph",
	.main = flame_main,
};
