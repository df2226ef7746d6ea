/*
 * Parses which table is wanted, has a room of output/ (insight, hints, python) make it, or reports
 * why the profile does not have it.
 */
#include "cli/report/sampled_tables.h"

#include <errno.h>
#include <stdio.h>

#include "cli/input/view.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "output/insight/derived_rules_note.h"
#include "output/python/gc_times.h"
#include "output/hints/hints.h"
#include "output/insight/operators.h"
#include "output/insight/phases.h"
#include "output/python/pstats.h"
#include "output/report/grid_report.h"
#include "output/insight/range_report.h"
#include "output/insight/split.h"

enum { MAX_RULES_SIZE = 1 << 20 /* largest file of rules, in bytes */ };

enum { OPTION_PSTATS = 0x900, OPTION_SPLIT, OPTION_PHASES, OPTION_HINTS, OPTION_GC };

static const struct argp_option options[] = {
	{ "pstats", OPTION_PSTATS, NULL, 0,
	  "The columns of cProfile and pstats: ncalls, tottime, cumtime; a dash for what was not "
	  "counted",
	  0 },
	{ "split", OPTION_SPLIT, NULL, 0,
	  "The kind of code that each function's time ended in: Python, native, kernel, GPU", 0 },
	{ "phases", OPTION_PHASES, "FILE", OPTION_ARG_OPTIONAL,
	  "The phases of a program by the rules in FILE (default: for PyTorch), see "
	  "sprof-report(1)",
	  0 },
	{ "hints", OPTION_HINTS, NULL, 0,
	  "Problems that the samples prove: waiting for data, for the GPU, ...", 0 },
	{ "gc", OPTION_GC, NULL, 0,
	  "Time in Python's garbage collector, by the line that triggered it", 0 },
	{ 0 }
};

static void set_table(struct report_sampled *what, enum report_sampled_table table,
		      struct argp_state *state)
{
	if (what->table && what->table != table)
		argp_error(state, "one table at a time");
	what->table = table;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_sampled *what = state->input;

	switch (key) {
	case OPTION_PSTATS: set_table(what, SAMPLED_PSTATS, state); return 0;
	case OPTION_SPLIT: set_table(what, SAMPLED_SPLIT, state); return 0;
	case OPTION_PHASES:
		what->rules = arg;
		set_table(what, SAMPLED_PHASES, state);
		return 0;
	case OPTION_HINTS: set_table(what, SAMPLED_HINTS, state); return 0;
	case OPTION_GC: set_table(what, SAMPLED_GC, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp report_sampled_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static struct grid_report_opts grid_opts(const struct report_sampled_opts *opts)
{
	return (struct grid_report_opts){ .json = opts->json,
					  .max_rows = opts->max_rows,
					  .columns = opts->terminal.columns,
					  .unicode = opts->terminal.unicode };
}

static int write_pstats(struct buffer *b, const struct view *v,
			const struct report_sampled_opts *opts)
{
	const struct grid_report_opts how = grid_opts(opts);
	struct pstats stats;

	if (v->summary.info->unit != UNIT_NS) {
		log_error(0, "print times of '%s': %s is not a time", opts->name,
			  v->summary.info->title);
		return -EDOM;
	}
	pstats_init(&stats, v->profile, v->tree);
	pstats_write(b, &stats, &v->summary, opts->key, &how);
	pstats_fini(&stats);
	return 0;
}

static int write_split(struct buffer *b, const struct view *v,
		       const struct report_sampled_opts *opts)
{
	const struct grid_report_opts how = grid_opts(opts);

	split_write(b, v->tree, &v->summary, opts->key, &how);
	return 0;
}

static int read_rules(const char *path, struct buffer *ret_text)
{
	FILE *f = fopen(path, "re");
	int err = f ? buffer_add_file(ret_text, f, MAX_RULES_SIZE) : -errno;

	if (err)
		log_error(-err, "read '%s'", path);
	if (f)
		fclose(f);
	return err;
}

static int write_phases(struct buffer *b, const char *path, const struct view *v,
			const struct report_sampled_opts *opts)
{
	const struct grid_report_opts how = grid_opts(opts);
	struct phase_rules *rules = NULL;
	struct phases phases;
	struct buffer text = { 0 };
	char why[512];
	int err = path ? read_rules(path, &text) : 0;

	if (err) {
		buffer_fini(&text);
		return err;
	}
	if (!path)
		buffer_add_string(&text, phases_default);
	err = phase_rules_new(text.data, text.size, &rules, why, sizeof(why));
	if (err) {
		log_error(0, "take the phases from '%s': %s", path ? path : "PyTorch", why);
	} else {
		phases_init(&phases, v->tree, rules);
		phases_write(b, &phases, &v->summary, &how);
		phases_fini(&phases);
	}
	phase_rules_free(rules);
	buffer_fini(&text);
	return err;
}

static int write_operators(struct buffer *b, const struct view *v,
			   const struct report_sampled_opts *opts)
{
	const struct grid_report_opts how = grid_opts(opts);
	struct operators operators;
	bool is_found;
	const struct range_report_opts ranges = { .json = opts->json, .max_rows = opts->max_rows };

	/* Counted ranges are more exact than samples, but exist for whole recordings only. */
	if (opts->is_whole && range_report_write_operators(b, v->profile, &ranges))
		return 0;
	operators_init(&operators, v->tree, opts->key);
	is_found = operators.nr > 0;
	if (is_found)
		operators_write(b, &operators, &v->summary, &how);
	operators_fini(&operators);
	if (is_found) {
		if (!opts->json)
			derived_rules_note_add(b, v->profile, how.columns);
		return 0;
	}
	log_error(0, "report on '%s': it holds no NVTX ranges and no operators of PyTorch",
		  opts->name);
	log_hint("sprof record --gpu on -- PROGRAM collects ranges; operators are named by the "
		 "symbols of libtorch_cpu.so");
	return -ENODATA;
}

static int write_hints(struct buffer *b, const struct view *v,
		       const struct report_sampled_opts *opts)
{
	const struct hints_opts how = { .json = opts->json, .unicode = opts->terminal.unicode };
	struct hints hints;

	hints_init(&hints, v->profile);
	hints_write(b, &hints, &v->summary, &how);
	hints_fini(&hints);
	return 0;
}

static int write_gc(struct buffer *b, const struct view *v, const struct report_sampled_opts *opts)
{
	const struct grid_report_opts how = grid_opts(opts);
	struct gc_times times;
	int err = 0;

	gc_times_init(&times, v->profile, v->summary.column);
	if (times.is_stripped && !(opts->is_whole && times.nr_counted))
		log_warning("a Python in '%s' is stripped: most of its collections are not seen",
			    opts->name);
	if (times.nr_rows || (opts->is_whole && times.nr_counted)) {
		gc_times_write(b, &times, v->profile, &v->summary, opts->is_whole, &how);
	} else {
		log_error(0, "show garbage collection in '%s': no sample was taken in it",
			  opts->name);
		log_hint("the collector is known by the names of CPython's functions; sprof record "
			 "--calls gc counts where the interpreter has probes");
		err = -ENODATA;
	}
	gc_times_fini(&times);
	return err;
}

int report_sampled_write(struct buffer *b, const struct report_sampled *what, const struct view *v,
			 const struct report_sampled_opts *opts)
{
	switch (what->table) {
	case SAMPLED_PSTATS: return write_pstats(b, v, opts);
	case SAMPLED_SPLIT: return write_split(b, v, opts);
	case SAMPLED_PHASES: return write_phases(b, what->rules, v, opts);
	case SAMPLED_OPERATORS: return write_operators(b, v, opts);
	case SAMPLED_HINTS: return write_hints(b, v, opts);
	case SAMPLED_GC: return write_gc(b, v, opts);
	case SAMPLED_NONE: break;
	}
	return 0;
}
