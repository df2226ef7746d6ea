/*
 * Rewrites the stacks of the profile so that what a row stands for becomes a function: a module, a
 * line, a caller of a function.
 */
#include "cli/report/shape.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/input/view.h"
#include "output/select/dimension.h"
#include "output/select/direction.h"

enum {
	OPTION_BY = 0x800,
	OPTION_TREE,
	OPTION_INVERT,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_ANNOTATE,
	OPTION_MIN,
	OPTION_CSV,
	OPTION_TSV,
	DEFAULT_MIN_PARTS = 5000, /* 0.5 %, in millionths */
};

static const struct argp_option options[] = {
	{ "by", OPTION_BY, "WHAT", 0,
	  "Rows are: function (default), line, module, file, thread, process, host, rank, "
	  "cgroup, container, user, reason, parallelism (of --latency), kind, lock",
	  0 },
	{ "tree", OPTION_TREE, NULL, 0, "The call tree, most expensive first", 0 },
	{ "invert", OPTION_INVERT, NULL, 0,
	  "The tree from the leaves: what takes the time, and who calls it", 0 },
	{ "callers", OPTION_CALLERS, "RE", 0, "The tree of who calls a function", 0 },
	{ "callees", OPTION_CALLEES, "RE", 0, "The tree of what a function calls", 0 },
	{ "annotate", OPTION_ANNOTATE, "RE", 0,
	  "A function line by line and instruction by instruction", 0 },
	{ "min", OPTION_MIN, "PERCENT", 0,
	  "Leave out nodes of a tree that take less (default: 0.5)", 0 },
	{ "csv", OPTION_CSV, NULL, 0, "Write comma-separated values, for spreadsheets and programs",
	  0 },
	{ "tsv", OPTION_TSV, NULL, 0, "The same, separated by tabs", 0 },
	{ 0 }
};

static uint32_t parse_percent(const char *text, struct argp_state *state)
{
	double percent;
	char *end;

	errno = 0;
	percent = strtod(text, &end);
	if (errno || end == text || (*end && (*end != '%' || end[1])) ||
	    !(percent >= 0 && percent <= 100))
		argp_error(state, "'%s' is not a percentage", text);
	return (uint32_t)(percent * 1e4 + 0.5);
}

static void set_direction(struct report_shape *s, enum report_direction direction, const char *text,
			  struct argp_state *state)
{
	char why[256];

	if (s->direction != REPORT_DOWN)
		argp_error(state, "one of --invert, --callers, --callees, --annotate at a time");
	s->is_tree |= direction != REPORT_ANNOTATE;
	if (text && pattern_init(&s->pattern, text, why, sizeof(why)))
		argp_error(state, "cannot look for '%s': %s", text, why);
	s->direction = direction;
}

static void set_separator(struct report_shape *s, char separator, struct argp_state *state)
{
	if (s->separator && s->separator != separator)
		argp_error(state, "one of --json, --csv, --tsv at a time");
	s->separator = separator;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_shape *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		s->by = dimension_table;
		s->min_parts = DEFAULT_MIN_PARTS;
		return 0;
	case OPTION_BY: s->by = view_parse_dimension(arg, state); break;
	case OPTION_TREE: s->is_tree = true; break;
	case OPTION_INVERT: set_direction(s, REPORT_INVERT, NULL, state); break;
	case OPTION_CALLERS: set_direction(s, REPORT_CALLERS, arg, state); break;
	case OPTION_CALLEES: set_direction(s, REPORT_CALLEES, arg, state); break;
	case OPTION_ANNOTATE: set_direction(s, REPORT_ANNOTATE, arg, state); break;
	case OPTION_MIN:
		s->min_parts = parse_percent(arg, state);
		s->min_given = true;
		break;
	case OPTION_CSV: set_separator(s, ',', state); break;
	case OPTION_TSV: set_separator(s, '\t', state); break;
	case ARGP_KEY_END:
		if (s->min_given && !s->is_tree)
			argp_error(state, "--min goes with --tree, --invert, --callers, --callees");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
	s->is_given = true;
	return 0;
}

const struct argp report_shape_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

void report_shape_focus(const struct report_shape *s, struct profile *p)
{
	if (s->direction == REPORT_CALLERS || s->direction == REPORT_CALLEES)
		direction_focus(p, &s->pattern);
}

bool report_shape_changes(const struct report_shape *s)
{
	return (s->direction != REPORT_DOWN && s->direction != REPORT_ANNOTATE) ||
	       s->by != dimension_table;
}

/* The direction comes first: its pattern matches functions, which s->by replaces by its rows. */
void report_shape_apply(const struct report_shape *s, struct profile *p)
{
	switch (s->direction) {
	case REPORT_DOWN: break;
	case REPORT_ANNOTATE: return;
	case REPORT_INVERT: direction_invert(p); break;
	case REPORT_CALLERS: direction_callers(p, &s->pattern); break;
	case REPORT_CALLEES: direction_callees(p, &s->pattern); break;
	}
	s->by->apply(p);
}

void report_shape_fini(struct report_shape *s)
{
	if (s->direction != REPORT_DOWN && s->direction != REPORT_INVERT)
		pattern_fini(&s->pattern);
}
