/*
 * sprof ranks: compares the ranks of a distributed job: which came last to a collective operation,
 * by how much, and what it did instead.
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/input/load.h"
#include "cli/input/view.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/ranks/ranks.h"
#include "output/ranks/ranks_write.h"

enum { OPTION_JSON = 0x100, DEFAULT_ROWS = 20 };

struct cmd_ranks_opts {
	char **inputs;
	size_t nr_inputs, capacity;
	const char *output;
	bool json;
	struct ranks_write_opts what;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write here (default: standard output)", 0 },
	{ "rows", 'n', "ROWS", 0, "Print at most so many late arrivals, 0 = all (default: 20)", 0 },
	{ "json", OPTION_JSON, NULL, 0, "For programs: one JSON object, see sprof-ranks(1)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_ranks_opts *o = state->input;

	switch (key) {
	case 'o': o->output = arg; return 0;
	case 'n': o->what.max_rows = view_parse_rows(arg, "arrivals", state); return 0;
	case OPTION_JSON: o->json = true; return 0;
	case ARGP_KEY_ARG:
		o->inputs = xgrow(o->inputs, &o->capacity, o->nr_inputs + 1, sizeof(*o->inputs));
		o->inputs[o->nr_inputs++] = arg;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[FILE...]",
	"Compares the ranks of a distributed job by their collective operations: which rank came "
	"last, by how much, and what it did more than the others before that. The files are the "
	"recordings of the ranks, or one of all (default: sprof.data).\v"
	"Collective operations are known from kernels of NCCL, and from gloo's functions on the "
	"CPU where sprof record --calls collectives timed these.\n\n"
	"Examples:\n"
	"  torchrun --nproc-per-node 8 --no-python sprof record -- python3 train.py\n"
	"  sprof ranks sprof.rank*.data\n"
	"  sprof record -- torchrun --nproc-per-node 8 train.py; sprof ranks\n",
	NULL,
	NULL,
	NULL,
};

static int print_ranks(const struct cmd_ranks_opts *o, struct ranks *r)
{
	struct terminal t = terminal_of(o->output);
	struct ranks_write_opts what = o->what;
	struct buffer b = { 0 };
	int err;

	if (!r->nr) {
		log_error(0, "compare ranks: the recordings hold no collective operation");
		log_hint("they are known from kernels of NCCL, so record with --gpu on; over gloo, "
			 "record with --calls collectives");
		return -1;
	}
	what.columns = t.columns;
	what.unicode = t.unicode;
	ranks_align(r);
	if (o->json) {
		ranks_write_json(&b, r, &what);
	} else {
		ranks_write(&b, r, &what);
		terminal_fold(&t, &b);
	}
	err = view_write(o->output, &b);
	buffer_fini(&b);
	return err;
}

static int ranks_main(int argc, char **argv)
{
	struct cmd_ranks_opts o = { .what.max_rows = DEFAULT_ROWS };
	struct ranks *r = ranks_new();
	struct profile **profiles;
	size_t nr = 0, wanted;
	int err = 0;

	parse_args(&argp, argc, argv, &o);
	wanted = o.nr_inputs ? o.nr_inputs : 1;
	profiles = xcalloc(wanted, sizeof(*profiles));
	for (; nr < wanted && !err; nr += !err) {
		err = profile_load(o.nr_inputs ? o.inputs[nr] : NULL, NULL, &profiles[nr]);
		if (!err)
			ranks_add(r, profiles[nr]);
	}
	err = err ? err : print_ranks(&o, r);
	ranks_free(r);
	for (size_t i = 0; i < nr; i++)
		profile_free(profiles[i]);
	free(profiles);
	free(o.inputs);
	return err ? 1 : 0;
}

const struct command cmd_ranks = {
	.name = "ranks",
	.argp = &argp,
	.help = "compare the ranks of a distributed job: which came late, and why",
	.main = ranks_main,
};
