/* Chooses and writes the other tables of samples. */
#include "cli/report_sampled.h"

#include <errno.h>

#include "cli/view.h"
#include "core/buffer.h"
#include "core/column.h"
#include "core/log.h"
#include "output/pstats.h"
#include "output/split.h"

enum { OPTION_PSTATS = 0x900, OPTION_SPLIT };

static const struct argp_option options[] = {
	{ "pstats", OPTION_PSTATS, NULL, 0,
	  "As cProfile and pstats: ncalls, tottime, cumtime; a dash for what was not counted", 0 },
	{ "split", OPTION_SPLIT, NULL, 0,
	  "What the time of each function ended in: Python, native code, the kernel, a GPU", 0 },
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

	(void)arg;
	switch (key) {
	case OPTION_PSTATS: set_table(what, SAMPLED_PSTATS, state); return 0;
	case OPTION_SPLIT: set_table(what, SAMPLED_SPLIT, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp report_sampled_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static int write_pstats(struct buffer *b, const struct view *v,
			const struct report_sampled_opts *opts)
{
	const struct pstats_opts how = { .by_total = opts->key == RANKING_TOTAL,
					 .json = opts->json,
					 .max_rows = opts->max_rows };
	struct pstats stats;

	if (v->summary.info->unit != UNIT_NS) {
		log_error(0, "print times of '%s': %s is not a time", opts->name,
			  v->summary.info->title);
		return -EDOM;
	}
	pstats_init(&stats, v->profile, v->tree);
	pstats_write(b, &stats, &v->summary, &how);
	pstats_fini(&stats);
	return 0;
}

static int write_split(struct buffer *b, const struct view *v,
		       const struct report_sampled_opts *opts)
{
	const struct split_opts how = { .key = opts->key,
					.json = opts->json,
					.max_rows = opts->max_rows };

	split_write(b, v->tree, &v->summary, &how);
	return 0;
}

int report_sampled_write(struct buffer *b, const struct report_sampled *what, const struct view *v,
			 const struct report_sampled_opts *opts)
{
	switch (what->table) {
	case SAMPLED_PSTATS: return write_pstats(b, v, opts);
	case SAMPLED_SPLIT: return write_split(b, v, opts);
	case SAMPLED_NONE: break;
	}
	return 0;
}
