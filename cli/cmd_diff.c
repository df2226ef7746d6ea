/*
 * sprof diff: compares two profiles, of recordings or of other files, and prints or draws what
 * changed. With --fail-if the exit status says whether a function got more expensive than allowed.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/diff_condition.h"
#include "cli/options/filter_opts.h"
#include "cli/options/idle_opts.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "cli/input/view.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "output/report/diff_table.h"
#include "output/select/dimension.h"
#include "output/select/filter.h"
#include "output/select/idle.h"
#include "output/flame/html.h"
#include "output/flame/svg.h"
#include "output/tree/margins.h"
#include "output/tree/tree.h"

enum {
	OPTION_JSON = 0x100,
	OPTION_FAIL_IF,
	OPTION_ABSOLUTE,
	OPTION_WITHOUT_MODULES,
	OPTION_NO_JS,
	OPTION_BY,
	DEFAULT_ROWS = 20
};

struct diff_opts {
	const char *inputs[2], *output, *title;
	enum diff_key key;
	bool json, rows_given, absolute, no_js;
	struct tree_opts tree;
	struct filter *filter;
	struct idle *idle;
	const struct dimension *by; /* NULL: functions */
	uint32_t rows;
	struct diff_condition *conditions;
	size_t nr_conditions, capacity;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Also draw the difference: an SVG, or a page if the name ends in .html", 0 },
	{ "title", 't', "TEXT", 0, "Title of the picture (default: the names of the files)", 0 },
	{ "absolute", OPTION_ABSOLUTE, NULL, 0,
	  "Compare times (or counts) as they are; default: shares of each recording", 0 },
	{ VIEW_COLUMN_OPTION,
	  "Compare this column (default: CPU time where there is any); sprof info lists them", 0 },
	{ "fail-if", OPTION_FAIL_IF, "CONDITION", 0,
	  "Exit with 1 if a function meets it beyond the sampling error: self>+2%, total>+5%; "
	  "may be given more than once",
	  0 },
	{ "sort", 's', "self|total", 0, "Rank by the change of self (default) or of total", 0 },
	{ "rows", 'n', "ROWS", 0,
	  "Print at most so many functions, 0 = all (default: 20; all with --json)", 0 },
	{ "by", OPTION_BY, "WHAT", 0,
	  "Compare: function (default), line, module, file, thread, process, host, rank, cgroup, "
	  "container, user, kind; threads and processes by their names",
	  0 },
	{ "without-modules", OPTION_WITHOUT_MODULES, NULL, 0,
	  "Take functions of the same name for one, whatever program or library they are in", 0 },
	{ "json", OPTION_JSON, NULL, 0, "For programs: one JSON object, see sprof-diff(1)", 0 },
	{ "no-js", OPTION_NO_JS, NULL, 0, "Draw the picture without its script and data", 0 },
	{ 0 }
};

static void add_condition(struct diff_opts *o, const char *text, struct argp_state *state)
{
	o->conditions =
		xgrow(o->conditions, &o->capacity, o->nr_conditions + 1, sizeof(*o->conditions));
	if (!diff_condition_parse(text, &o->conditions[o->nr_conditions++]))
		argp_error(state, "'%s' is not a condition such as self>+2%% or total>+5%%", text);
}

static void add_input(struct diff_opts *o, const char *path, struct argp_state *state)
{
	if (o->inputs[1])
		argp_error(state, "two FILEs, before and after");
	o->inputs[o->inputs[0] ? 1 : 0] = path;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diff_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->filter;
		state->child_inputs[1] = &o->idle;
		return 0;
	case 'o': o->output = arg; return 0;
	case 't': o->title = arg; return 0;
	case 's': o->key = view_sorts_by_total(arg, state) ? DIFF_TOTAL : DIFF_SELF; return 0;
	case 'n':
		o->rows = view_parse_rows(arg, "rows", state);
		o->rows_given = true;
		return 0;
	case VIEW_KEY_COLUMN: view_parse_column(arg, state, &o->tree); return 0;
	case OPTION_BY: o->by = view_parse_dimension(arg, state); return 0;
	case OPTION_ABSOLUTE: o->absolute = true; return 0;
	case OPTION_FAIL_IF: add_condition(o, arg, state); return 0;
	case OPTION_WITHOUT_MODULES: o->tree.without_modules = true; return 0;
	case OPTION_JSON: o->json = true; return 0;
	case OPTION_NO_JS: o->no_js = true; return 0;
	case ARGP_KEY_ARG: add_input(o, arg, state); return 0;
	case ARGP_KEY_END:
		if (!o->inputs[1])
			argp_error(state, "two FILEs, before and after");
		if (!o->output && (o->title || o->no_js))
			argp_error(state,
				   "-t and --no-js are of the picture: -o says where it goes");
		if (!o->rows_given)
			o->rows = o->json ? 0 : DEFAULT_ROWS;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"BEFORE AFTER",
	"Compares two recordings, or files of collapsed stacks: which functions take more and "
	"which less, beyond the sampling error. Prints a table; -o draws the flame graph of AFTER "
	"in the colours of the change, with removed functions beside it.\v"
	"A box has the colour of the change of its total, a cap that of its self: orange is more, "
	"blue is less, grey is within the sampling error.\n\n"
	"Examples:\n"
	"  sprof diff before.data after.data\n"
	"  sprof diff before.data after.data -o diff.svg\n"
	"  sprof diff --fail-if 'self>+2%' main.data branch.data\n",
	(const struct argp_child[]){
		{ &filter_argp, 0, "Filters, of both:", 1 }, { &idle_argp, 0, NULL, 1 }, { 0 } },
	NULL,
	NULL,
};

static struct diff_table_opts table_opts_of(const struct diff_opts *o, const struct terminal *t)
{
	return (struct diff_table_opts){
		.key = o->key,
		.max_rows = o->rows,
		.columns = t->columns,
		.unicode = t->unicode,
		.color = t->color,
	};
}

static int draw(const struct diff_opts *o, const struct diff_view *v)
{
	char *title = xasprintf("%s \xe2\x86\x92 %s", v->before_name, v->after_name);
	const struct svg_opts svg = {
		.title = o->title ? o->title : title,
		.without_script = o->no_js,
		.diff = v,
	};
	struct buffer b = { 0 };
	int err;

	if (view_is_html(o->output))
		html_write(&b, v->diff->tree, v->after, NULL, NULL, 0, &svg);
	else
		svg_write(&b, v->diff->tree, v->after, &svg);
	err = view_write(o->output, &b);
	buffer_fini(&b);
	free(title);
	return err;
}

static int print(const struct diff_opts *o, const struct diff_view *v, const struct diff_row *rows,
		 uint32_t nr_rows)
{
	const struct terminal terminal = terminal_of(NULL);
	const struct diff_table_opts table = table_opts_of(o, &terminal);
	struct buffer b = { 0 };
	int err;

	if (o->json)
		diff_json_write(&b, v, rows, nr_rows, o->rows);
	else
		diff_table_write(&b, v, rows, nr_rows, &table);
	if (!o->json)
		terminal_fold(&terminal, &b);
	err = view_write(NULL, &b);
	buffer_fini(&b);
	return err;
}

/* A profile without samples meets no condition, but that is no reason to say that it passed. */
static int check_samples(const struct diff_view *v)
{
	const char *empty = !v->before->samples ? v->before_name : v->after_name;

	if (v->before->samples && v->after->samples)
		return 0;
	log_error(0, "compare '%s' with '%s': there are no samples of '%s' to judge by",
		  v->before_name, v->after_name, empty);
	return -ENODATA;
}

/* Returns 1 when a condition was met, or a negative error. */
static int show(const struct diff_opts *o, const struct diff_view *v)
{
	uint32_t nr_rows, met = 0;
	struct diff_row *rows = diff_rank(v->diff, o->key, &nr_rows);
	int err = print(o, v, rows, nr_rows);

	if (!err && o->output)
		err = draw(o, v);
	if (!err && o->nr_conditions)
		err = check_samples(v);
	for (size_t i = 0; i < o->nr_conditions; i++)
		met += diff_condition_check(&o->conditions[i], v, rows, nr_rows);
	free(rows);
	return err ? err : met != 0;
}

static bool has_modules(const struct tree *tree)
{
	for (size_t i = 0; i < tree->functions.nr; i++)
		if (*tree->functions.list[i].module)
			return true;
	return false;
}

/*
 * Where only one profile has modules (collapsed stacks have none), no function of one would equal a
 * function of the other: both are then compared by name alone.
 */
static int level_modules(struct view views[2], const struct diff_opts *o)
{
	struct tree_opts opts = o->tree;
	bool has[2] = { has_modules(views[0].tree), has_modules(views[1].tree) };
	struct tree *tree;
	int err;

	if (has[0] == has[1])
		return 0;
	log_info("functions are compared by name alone: '%s' has no modules",
		 o->inputs[has[0] ? 1 : 0]);
	opts.without_modules = true;
	err = tree_new(views[has[0] ? 0 : 1].profile, &opts, &tree);
	if (err)
		return err;
	err = margins_add(tree, views[has[0] ? 0 : 1].profile, &opts);
	if (err) {
		tree_free(tree);
		return err;
	}
	tree_free(views[has[0] ? 0 : 1].tree);
	views[has[0] ? 0 : 1].tree = tree;
	return 0;
}

static int compare(const struct diff_opts *o, struct view views[2])
{
	const struct dimension *by = o->by ? o->by : dimension_table;
	struct diff_view v = {
		.before = &views[0].summary,
		.after = &views[1].summary,
		.before_name = o->inputs[0],
		.after_name = o->inputs[1],
		.heading = by->heading,
		.singular = by->name,
		.plural = by->plural,
	};
	struct diff *d;
	int err = level_modules(views, o);

	if (!err)
		err = diff_new(views[0].tree, views[1].tree, o->absolute, &d);
	if (err) {
		log_error(err == -EINVAL ? 0 : -err, "compare '%s' with '%s'%s", o->inputs[0],
			  o->inputs[1], err == -EINVAL ? ": one has times, the other counts" : "");
		if (err == -EINVAL)
			log_hint("without --absolute shares are compared, which both have");
		return err;
	}
	v.diff = d;
	err = show(o, &v);
	diff_free(d);
	return err;
}

static int diff_main(int argc, char **argv)
{
	struct diff_opts o = { .key = DIFF_SELF };
	struct view views[2] = { 0 };
	int err = 0;

	parse_args(&argp, argc, argv, &o);
	for (int i = 0; i < 2 && !err; i++) {
		err = view_load_busy(o.inputs[i], o.filter, o.idle, &views[i]);
		if (!err)
			err = view_build_by(&views[i], o.inputs[i], &o.tree,
					    o.by ? o.by->compare : NULL);
	}
	if (!err)
		err = compare(&o, views);
	view_close(&views[0]);
	view_close(&views[1]);
	filter_free(o.filter);
	idle_free(o.idle);
	free(o.conditions);
	return err ? 1 : 0;
}

const struct command cmd_diff = {
	.name = "diff",
	.argp = &argp,
	.help = "show what changed between two recordings",
	.main = diff_main,
};
