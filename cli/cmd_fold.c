/*
 * sprof fold: prints a profile as collapsed stacks, a line per stack: the input of flamegraph.pl
 * and of many other programs.
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>

#include "cli/options/filter_opts.h"
#include "cli/input/load.h"
#include "cli/input/view.h"
#include "cli/options/parse_args.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "output/select/filter.h"
#include "output/export/collapsed_writer.h"
#include "output/tree/tree.h"

enum { OPTION_TIME = 0x100 };

struct fold_opts {
	const char *input, *output;
	bool time;
	struct tree_opts tree;
	struct filter *filter;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write here (default: standard output)", 0 },
	{ VIEW_COLUMN_OPTION,
	  "What to count: cpu, gpu, gpu-idle, launches, ... (default: wall-clock time if there are "
	  "waits, else CPU)",
	  0 },
	{ "time", OPTION_TIME, NULL, 0,
	  "Count CPU time in ns (default: samples); other columns, and imported files whose "
	  "samples weigh differently, are in their unit anyway",
	  0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct fold_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->filter; return 0;
	case 'o': o->output = arg; return 0;
	case VIEW_KEY_COLUMN: view_parse_column(arg, state, &o->tree); return 0;
	case OPTION_TIME: o->time = true; return 0;
	case ARGP_KEY_ARG: view_take_input(arg, state, &o->input); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[FILE]",
	"Prints a recording (default: sprof.data) as collapsed stacks, one line each: the "
	"thread and the functions from the root on, separated by ';', and a count. flamegraph.pl, "
	"inferno and speedscope read that format. Lines are sorted, and equal stacks added up; "
	"- reads standard input.\v"
	"Suffixes say the kind of a function: _[k] kernel, _[j] runtime (JIT), _[g] GPU, _[w] what "
	"a thread waits for, _[i] inlined.\n\n"
	"Examples:\n"
	"  sprof fold >out.folded\n"
	"  sprof fold | flamegraph.pl >flame.svg\n"
	"  cat a.folded b.folded | sprof fold - -o both.folded\n",
	(const struct argp_child[]){ { &filter_argp, 0, "Filters:", 1 }, { 0 } },
	NULL,
	NULL,
};

static int fold_main(int argc, char **argv)
{
	struct fold_opts o = { .tree.without_modules = true };
	struct buffer b = { 0 };
	struct view v;
	int err;

	parse_args(&argp, argc, argv, &o);
	err = view_open(o.input, o.filter, &o.tree, &v);
	filter_free(o.filter);
	if (err)
		return 1;
	if (o.time && v.summary.info->unit != UNIT_NS) {
		log_error(0, "print times of '%s': it holds counts only",
			  o.input ? o.input : LOAD_DEFAULT_PATH);
		view_close(&v);
		return 1;
	}
	collapsed_write(&b, v.tree,
			o.time || v.summary.info->exact || v.summary.info->sums ||
				v.summary.column == COLUMN_EVENTS ||
				column_is_event(v.summary.column) ||
				column_is_memory(v.summary.column) || v.profile->meta.weighted);
	err = view_write(o.output, &b);
	buffer_fini(&b);
	view_close(&v);
	return err ? 1 : 0;
}

const struct command cmd_fold = {
	.name = "fold",
	.argp = &argp,
	.help = "print collapsed stacks, for other tools",
	.main = fold_main,
};
