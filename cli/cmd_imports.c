/*
 * sprof imports: prints what importing Python modules cost, nested as the modules import each other
 * or flat.
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>

#include "cli/options/filter_opts.h"
#include "cli/input/load.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "cli/input/view.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "output/select/filter.h"
#include "output/python/python_imports.h"
#include "output/tree/tree.h"

enum { OPTION_JSON = 0x100, OPTION_FLAT, DEFAULT_ROWS = 40 };

struct cmd_imports_opts {
	const char *input, *output;
	bool json, rows_given;
	struct python_imports_opts what;
	struct filter *filter;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write here (default: standard output)", 0 },
	{ "flat", OPTION_FLAT, NULL, 0, "Sort modules by their own time, without nesting", 0 },
	{ "rows", 'n', "ROWS", 0, "Print at most so many modules, 0 = all (default: 40)", 0 },
	{ "json", OPTION_JSON, NULL, 0, "For programs: one JSON object, see sprof-imports(1)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_imports_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->filter; return 0;
	case 'o': o->output = arg; return 0;
	case 'n':
		o->what.max_rows = view_parse_rows(arg, "modules", state);
		o->rows_given = true;
		return 0;
	case OPTION_FLAT: o->what.flat = true; return 0;
	case OPTION_JSON: o->json = true; return 0;
	case ARGP_KEY_ARG: view_take_input(arg, state, &o->input); return 0;
	case ARGP_KEY_END:
		if (o->json && (o->what.flat || (o->rows_given && o->what.max_rows)))
			argp_error(state,
				   "--json holds all modules and who imported them: it takes no "
				   "--flat and no -n");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[FILE]",
	"Prints what importing Python modules cost in a recording (default: sprof.data): each "
	"module below the one that imported it, with the time of its own top level code (Self), of "
	"finding and reading what it imports (Finding), and all of it together (Total).\v"
	"A program's start is short: record it at a high rate, or with --calls imports, which "
	"times each import where the interpreter has probes for it.\n\n"
	"Examples:\n"
	"  sprof record -F 4999 -- python3 -c 'import asyncio'\n"
	"  sprof imports\n"
	"  sprof imports --flat -n 10\n",
	(const struct argp_child[]){ { &filter_argp, 0, "Filters:", 1 }, { 0 } },
	NULL,
	NULL,
};

static int print_imports(const struct cmd_imports_opts *o, const struct view *v)
{
	const char *input = o->input ? o->input : LOAD_DEFAULT_PATH;
	struct buffer b = { 0 };
	struct python_imports_opts what = o->what;
	struct terminal t = terminal_of(o->output);
	struct python_imports im;
	int err = 0;

	what.columns = t.columns;
	what.unicode = t.unicode;

	if (o->filter || !python_imports_init_counted(&im, v->profile))
		python_imports_init(&im, v->profile, v->summary.column);
	if (o->json) {
		python_imports_write_json(&b, &im, v->profile, &v->summary);
	} else if (!python_imports_write(&b, &im, v->profile, &v->summary, &what)) {
		log_error(0, "show imports of '%s': no sample was taken in one", input);
		log_hint("record the start of a Python program, at a high rate: sprof record -F "
			 "4999 -- python3 ...");
		err = 1;
	}
	if (!err && !o->json)
		terminal_fold(&t, &b);
	if (!err)
		err = view_write(o->output, &b);
	python_imports_fini(&im);
	buffer_fini(&b);
	return err;
}

static int imports_main(int argc, char **argv)
{
	const struct tree_opts tree = { .column_given = true, .column = COLUMN_CPU };
	struct cmd_imports_opts o = { .what.max_rows = DEFAULT_ROWS };
	struct view v;
	int err;

	parse_args(&argp, argc, argv, &o);
	err = view_open(o.input, o.filter, &tree, &v);
	if (!err) {
		err = print_imports(&o, &v);
		view_close(&v);
	}
	filter_free(o.filter);
	return err ? 1 : 0;
}

const struct command cmd_imports = {
	.name = "imports",
	.argp = &argp,
	.help = "print what importing Python modules cost",
	.main = imports_main,
};
