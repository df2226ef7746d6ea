/*
 * sprof report: prints the functions that take the time, or one of the other tables that a profile
 * holds. cli/report parses which table; output/ writes it.
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>
#include <string.h>

#include "cli/options/filter_opts.h"
#include "cli/options/idle_opts.h"
#include "cli/input/load.h"
#include "cli/options/parse_args.h"
#include "cli/report/report_annotate.h"
#include "cli/report/fact_tables.h"
#include "cli/report/sampled_tables.h"
#include "cli/report/shape.h"
#include "cli/options/terminal.h"
#include "cli/input/view.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/segments/segments_read.h"
#include "output/kernels/flops_report.h"
#include "output/select/dimension.h"
#include "output/select/filter.h"
#include "output/select/idle.h"
#include "output/report/row_cells.h"
#include "output/report/table_json.h"
#include "output/report/table.h"
#include "output/tree/ratio.h"
#include "output/tree/tree.h"
#include "output/report/tree_table.h"

enum {
	OPTION_JSON = 0x100,
	OPTION_SKIP,
	OPTION_PER,
	OPTION_TABLE, /* + enum report_table */
	DEFAULT_ROWS = 40,
	DEFAULT_FUNCTIONS = 10, /* of --annotate */
};

struct report_opts {
	const char *input, *output;
	enum ranking_key key;
	bool key_given, json, rows_given;
	uint32_t rows;
	struct tree_opts tree, per; /* per: the column of --per */
	struct filter *filter;
	struct idle *idle;
	enum report_table table;
	const char *flops_rows;
	uint64_t skip;
	struct report_shape shape;
	struct report_sampled sampled;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write here (default: standard output)", 0 },
	{ VIEW_COLUMN_OPTION,
	  "What to show: cpu, gpu, gpu-idle, launches, ... (default: wall-clock time if there are "
	  "waits, else CPU)",
	  0 },
	{ "per", OPTION_PER, "COLUMN", 0,
	  "For each function, show the values divided by those of this column, of time by seconds: "
	  "--column instructions --per cycles (default of instructions, if cycles are there)",
	  0 },
	{ "sort", 's', "self|total", 0,
	  "Rank functions by their own time (default), or including all they call; tottime and "
	  "cumtime are the same",
	  0 },
	{ "rows", 'n', "ROWS", 0,
	  "Print at most so many functions, 0 = all (default: 40, 10 with --annotate; all with "
	  "--json)",
	  0 },
	{ "json", OPTION_JSON, NULL, 0, "For programs: a JSON object, see sprof-report(1)", 0 },
	{ NULL, 0, NULL, 0, "Other tables, of what was counted and not sampled:", 2 },
	{ "gpu", OPTION_TABLE + REPORT_GPU, NULL, 0, "What ran on the GPUs: kernels, copies, fills",
	  2 },
	{ "api", OPTION_TABLE + REPORT_API, NULL, 0, "Calls of the CUDA API", 2 },
	{ "memcpy", OPTION_TABLE + REPORT_MEMCPY, NULL, 0, "Copies and fills, with their rates",
	  2 },
	{ "stalls", OPTION_TABLE + REPORT_STALLS, NULL, 0,
	  "Lines of GPU kernels and why warps waited there, as sprof record --pc-sampling sampled",
	  2 },
	{ "ranges", OPTION_TABLE + REPORT_RANGES, NULL, 0,
	  "NVTX ranges, as Markdown: repeats, time on host, CPU and GPU, memory", 2 },
	{ "calls", OPTION_TABLE + REPORT_CALLS, NULL, 0,
	  "How often functions were called, as sprof record --calls counted", 2 },
	{ "locks", OPTION_TABLE + REPORT_LOCKS, NULL, 0,
	  "Which threads waited for which locks, and which held them; of waits that were recorded",
	  2 },
	{ "syscalls", OPTION_TABLE + REPORT_SYSCALLS, NULL, 0,
	  "System calls: number, time and errors, as sprof record --syscalls counted", 2 },
	{ "op", OPTION_TABLE + REPORT_OPERATORS, NULL, 0,
	  "Operators of PyTorch: NVTX ranges named after them, or else native frames", 2 },
	{ "flops", OPTION_TABLE + REPORT_FLOPS, "ROWS", OPTION_ARG_OPTIONAL,
	  "Operations of cuBLAS and cuDNN, their rate and its share of the peak, by function "
	  "(default), line, operator, range, call or kernel",
	  2 },
	{ "skip", OPTION_SKIP, "N", 0, "With --ranges: leave out the first N repeats of each range",
	  2 },
	{ 0 }
};

static enum ranking_key parse_key(const char *text, struct argp_state *state)
{
	if (!strcmp(text, "tottime"))
		return RANKING_SELF;
	if (!strcmp(text, "cumtime"))
		return RANKING_TOTAL;
	return view_sorts_by_total(text, state) ? RANKING_TOTAL : RANKING_SELF;
}

static void set_table(struct report_opts *o, enum report_table table, struct argp_state *state)
{
	if (o->table && o->table != table)
		argp_error(state, "one table at a time");
	o->table = table;
}

/* Does --sort apply? A tree is sorted by total, and most tables have an order of their own. */
static bool takes_sort(const struct report_opts *o)
{
	if (o->table)
		return o->table == REPORT_OPERATORS;
	if (o->sampled.table)
		return o->sampled.table == SAMPLED_PSTATS || o->sampled.table == SAMPLED_SPLIT;
	return !o->shape.is_tree || o->key == RANKING_TOTAL;
}

/* Of a folder some tables are sums over its segments, which times and hosts choose. */
static bool chooses_segments(const struct report_opts *o)
{
	return (o->table == REPORT_LOCKS || o->table == REPORT_SYSCALLS) &&
	       filter_chooses_recordings(o->filter) && o->input && segments_is_folder(o->input);
}

static void check(const struct report_opts *o, struct argp_state *state)
{
	if (o->key_given && !takes_sort(o))
		argp_error(state,
			   "--sort goes with tables of functions, --by, --annotate, --pstats, "
			   "--split and --op");
	if (o->skip && o->table != REPORT_RANGES)
		argp_error(state, "--skip goes with --ranges");
	if ((o->table || o->sampled.table) && o->shape.separator)
		argp_error(state,
			   "--csv and --tsv are for functions and trees; other tables have --json");
	if (o->table == REPORT_OPERATORS && o->shape.is_given)
		argp_error(state, "one table at a time");
	if (o->table && o->table != REPORT_OPERATORS &&
	    ((o->filter && !chooses_segments(o)) || o->idle || o->tree.column_given ||
	     o->shape.is_given))
		argp_error(state, "a table of counts is about the whole recording: it takes no "
				  "filter, no column and no other shape; of a folder, --locks and "
				  "--syscalls take --from, --to and --on");
	if (o->sampled.table && (o->table || o->shape.is_given))
		argp_error(state, "one table at a time");
	if (o->per.column_given && (o->table || o->sampled.table || o->shape.is_tree ||
				    o->shape.direction == REPORT_ANNOTATE))
		argp_error(state, "--per goes with tables of functions and --by");
	if (o->shape.is_tree && (o->json || o->shape.separator) &&
	    (o->rows || (o->shape.min_given && o->shape.min_parts)))
		argp_error(state, "--json, --csv and --tsv write the whole tree: they take no -n "
				  "and no --min");
	if (o->json && o->shape.separator)
		argp_error(state, "one of --json, --csv, --tsv at a time");
	if (o->shape.direction == REPORT_ANNOTATE &&
	    (o->shape.is_tree || o->shape.separator || strcmp(o->shape.by->name, "function") != 0))
		argp_error(state, "--annotate is a report of its own: it goes with no tree, no "
				  "--by, --csv or --tsv");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->filter;
		state->child_inputs[1] = &o->shape;
		state->child_inputs[2] = &o->sampled;
		state->child_inputs[3] = &o->idle;
		return 0;
	case 'o': o->output = arg; return 0;
	case 's':
		o->key = parse_key(arg, state);
		o->key_given = true;
		return 0;
	case 'n':
		o->rows = view_parse_rows(arg, "rows", state);
		o->rows_given = true;
		return 0;
	case VIEW_KEY_COLUMN: view_parse_column(arg, state, &o->tree); return 0;
	case OPTION_PER: view_parse_column(arg, state, &o->per); return 0;
	case OPTION_JSON: o->json = true; return 0;
	case OPTION_SKIP: o->skip = view_parse_rows(arg, "repeats", state); return 0;
	case OPTION_TABLE + REPORT_GPU:
	case OPTION_TABLE + REPORT_API:
	case OPTION_TABLE + REPORT_MEMCPY:
	case OPTION_TABLE + REPORT_RANGES:
	case OPTION_TABLE + REPORT_CALLS:
	case OPTION_TABLE + REPORT_LOCKS:
	case OPTION_TABLE + REPORT_SYSCALLS:
	case OPTION_TABLE + REPORT_OPERATORS:
	case OPTION_TABLE + REPORT_STALLS:
		set_table(o, (enum report_table)(key - OPTION_TABLE), state);
		return 0;
	case OPTION_TABLE + REPORT_FLOPS:
		if (arg && !flops_report_is_row(arg))
			argp_error(state,
				   "--flops=%s: rows are function, line, operator, range, "
				   "call or kernel",
				   arg);
		o->flops_rows = arg;
		set_table(o, REPORT_FLOPS, state);
		return 0;
	case ARGP_KEY_ARG: view_take_input(arg, state, &o->input); return 0;
	case ARGP_KEY_SUCCESS: check(o, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[FILE]",
	"Prints which functions of a recording (default: sprof.data) or of collapsed stacks take "
	"the time, and how far the numbers can be trusted; - reads standard input.\v"
	"Self is the time in a function itself, Total includes all it calls; a function that calls "
	"itself counts once. A number of samples is followed by its margin of error, which "
	"contains the true value 95 times in 100.\n\n"
	"Examples:\n"
	"  sprof report\n"
	"  sprof report --sort total -n 10 other.data\n"
	"  sprof report --by module --from 10s\n"
	"  sprof report --callers '^malloc$'\n"
	"  sprof report --annotate '^parse$'\n"
	"  sprof report --json | jq '.rows[0].function'\n"
	"  sprof report --ranges --skip 10 >step.md\n",
	(const struct argp_child[]){ { &filter_argp, 0, "Filters:", 4 },
				     { &report_shape_argp, 0, "What the rows are:", 1 },
				     { &report_sampled_argp, 0, "Other tables of the samples:", 1 },
				     { &idle_argp, 0, NULL, 4 },
				     { 0 } },
	NULL,
	NULL,
};

static struct table_opts table_opts_of(const struct report_opts *o)
{
	const struct terminal t = terminal_of(o->output);

	return (struct table_opts){
		.key = o->key,
		.max_rows = o->rows,
		.columns = t.columns,
		.unicode = t.unicode,
		.color = t.color,
		.heading = o->shape.by->heading,
		.singular = o->shape.by->name,
		.plural = o->shape.by->plural,
	};
}

static void write_tree(struct buffer *b, const struct report_opts *o, const struct view *v)
{
	const struct report_shape *s = &o->shape;
	const struct table_opts table = table_opts_of(o);

	if (o->json)
		report_json_write_tree(b, v->tree, &v->summary, s->by->name);
	else if (s->separator)
		report_cells_write_tree(b, s->separator, v->tree, &v->summary, s->by->name);
	else
		tree_table_write(b, v->tree, &v->summary, &table, s->min_parts);
}

static void write_rows(struct buffer *b, const struct report_opts *o, const struct view *v)
{
	const struct report_shape *s = &o->shape;
	const struct table_opts table = table_opts_of(o);

	if (o->json)
		report_json_write(b, v->tree, &v->summary, o->key, s->by->name, o->rows);
	else if (s->separator)
		report_cells_write(b, s->separator, v->tree, &v->summary, o->key, s->by->name,
				   o->rows);
	else
		table_write(b, v->tree, &v->summary, &table);
}

static int write_annotated(struct buffer *b, const struct report_opts *o, const struct view *v)
{
	const struct report_annotate_opts annotate = {
		.pattern = &o->shape.pattern,
		.key = o->key,
		.max_functions = o->rows,
		.json = o->json,
		.terminal = terminal_of(o->output),
		.input = o->input,
	};

	return report_annotate(b, v, &annotate);
}

static void set_default_rows(struct report_opts *o)
{
	if (o->json || o->shape.separator)
		o->rows = 0;
	else
		o->rows = o->shape.direction == REPORT_ANNOTATE ? DEFAULT_FUNCTIONS : DEFAULT_ROWS;
}

static int report_counted(const struct report_opts *o)
{
	const struct report_facts_opts facts = {
		.input = o->input,
		.output = o->output,
		.filter = o->filter,
		.table = o->table,
		.max_rows = o->rows,
		.skip = o->skip,
		.rows = o->flops_rows,
		.json = o->json,
		.terminal = terminal_of(o->output),
	};

	int err = report_facts(&facts);

	filter_free(o->filter);
	return err ? 1 : 0;
}

static int report_sampled(struct buffer *b, const struct report_opts *o, const struct view *v)
{
	const struct report_sampled_opts opts = {
		.name = o->input ? o->input : LOAD_DEFAULT_PATH,
		.key = o->key,
		.max_rows = o->rows,
		.json = o->json,
		.terminal = terminal_of(o->output),
		.is_whole = !o->filter && !o->tree.column_given,
	};

	return report_sampled_write(b, &o->sampled, v, &opts);
}

static int report_samples(struct buffer *b, const struct report_opts *o, const struct view *v)
{
	if (o->sampled.table)
		return report_sampled(b, o, v);
	if (o->shape.direction == REPORT_ANNOTATE)
		return write_annotated(b, o, v);
	(o->shape.is_tree ? write_tree : write_rows)(b, o, v);
	return 0;
}

/*
 * How far the numbers can be trusted is told by the stacks as they were recorded, so that is kept
 * from before they are rewritten.
 */
static int build(struct view *v, const struct report_opts *o)
{
	struct summary before;
	int err;

	report_shape_focus(&o->shape, v->profile);
	err = view_build(v, o->input, &o->tree);
	if (err || !v->summary.samples || !report_shape_changes(&o->shape))
		return err;
	before = v->summary;
	tree_free(v->tree);
	v->tree = NULL;
	report_shape_apply(&o->shape, v->profile);
	err = view_build(v, o->input, &o->tree);
	summary_keep_trust(&v->summary, &before);
	return err;
}

/* Adds the ratio to the column of --per, or else the usual ratio of the column, if it has one. */
static int add_ratio(struct view *v, const struct report_opts *o)
{
	enum profile_column per = o->per.column;
	int err = 0;

	if (o->table || o->sampled.table || o->shape.is_tree)
		return 0;
	if (!o->per.column_given)
		per = ratio_usual(v->profile, v->tree->column);
	else if (o->per.event)
		err = view_find_event(v->profile, o->per.event, o->input, &per);
	if (!err && o->per.column_given)
		err = view_check_column(v->profile, per, o->input);
	if (err || per == NR_COLUMNS)
		return err;
	err = ratio_add(v->tree, v->profile, per);
	if (err)
		log_error(-err, "add up the samples of '%s'",
			  o->input ? o->input : LOAD_DEFAULT_PATH);
	return err;
}

static int report_main(int argc, char **argv)
{
	struct report_opts o = { .key = RANKING_SELF, .tree.gil = true };
	struct buffer b = { 0 };
	struct terminal terminal;
	struct view v;
	int err;

	parse_args(&argp, argc, argv, &o);
	if (!o.rows_given)
		set_default_rows(&o);
	if (o.table == REPORT_OPERATORS)
		o.sampled.table = SAMPLED_OPERATORS;
	else if (o.table)
		return report_counted(&o);
	err = view_load_busy(o.input, o.filter, o.idle, &v);
	if (!err)
		err = build(&v, &o);
	if (!err)
		err = add_ratio(&v, &o);
	if (!err)
		err = report_samples(&b, &o, &v);
	terminal = terminal_of(o.output);
	if (!err && !o.json && !o.shape.separator)
		terminal_fold(&terminal, &b);
	if (!err)
		err = view_write(o.output, &b);
	filter_free(o.filter);
	idle_free(o.idle);
	report_shape_fini(&o.shape);
	buffer_fini(&b);
	view_close(&v);
	return err ? 1 : 0;
}

const struct command cmd_report = {
	.name = "report",
	.argp = &argp,
	.help = "print the functions that take the time",
	.main = report_main,
};
