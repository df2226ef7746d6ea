/*
 * Opens a profile for a command that shows it: loads it, applies the filter, chooses the column and
 * builds the tree. Also writes the command's output.
 */
#include "cli/input/view.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/input/load.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/event_name.h"
#include "core/base/log.h"
#include "cli/input/replace_file.h"
#include "cli/options/whole_number.h"
#include "core/profile/profile.h"
#include "output/select/dimension.h"
#include "output/select/idle.h"
#include "output/select/reasons.h"
#include "output/tree/margins.h"
#include "output/tree/tree.h"

void view_parse_column(const char *name, struct argp_state *state, struct tree_opts *opts)
{
	enum profile_column column = column_find(name);
	struct buffer names = { 0 };

	if (column < NR_COLUMNS || event_name_is_plausible(name)) {
		opts->column_given = true;
		opts->column = column;
		opts->event = column < NR_COLUMNS ? NULL : name;
		return;
	}
	for (int i = 0; i < NR_COLUMNS; i++)
		if (!column_is_event((uint64_t)i))
			buffer_printf(&names, "%s%s", i ? ", " : "", column_table[i].name);
	argp_error(state, "there is no column '%s', only %s and events", name,
		   buffer_cstring(&names));
	buffer_fini(&names);
}

const struct dimension *view_parse_dimension(const char *name, struct argp_state *state)
{
	const struct dimension *d = dimension_find(name);
	struct buffer names = { 0 };

	if (d)
		return d;
	for (d = dimension_table; d->name; d++)
		buffer_printf(&names, "%s%s", names.size ? ", " : "", d->name);
	argp_error(state, "cannot group by '%s', only by %s", name, buffer_cstring(&names));
	buffer_fini(&names);
	return dimension_table;
}

int view_find_event(const struct profile *p, const char *event, const char *path,
		    enum profile_column *ret_column)
{
	unsigned int column = column_find_event(p, event);

	if (column < NR_COLUMNS) {
		*ret_column = (enum profile_column)column;
		return 0;
	}
	log_error(0, "show column %s of '%s': it holds no such event", event,
		  path ? path : LOAD_DEFAULT_PATH);
	log_hint("sprof info %s lists the columns it has", path ? path : LOAD_DEFAULT_PATH);
	return -ENODATA;
}

int view_check_column(const struct profile *p, enum profile_column column, const char *path)
{
	const char *name = path ? path : LOAD_DEFAULT_PATH;
	bool present[NR_COLUMNS];

	columns_present(p, present);
	if (present[column])
		return 0;
	if (p->idle.nr_samples[column]) {
		log_error(0, "show column %s of '%s': all of it are waits of idle threads",
			  column_table[column].name, name);
		log_hint("--idle shows them");
		return -ENODATA;
	}
	log_error(0, "show column %s of '%s': it holds no %s", column_info_of(p, column)->name,
		  name, column_info_of(p, column)->title);
	log_hint("sprof info %s lists the columns it has", name);
	return -ENODATA;
}

void view_take_input(const char *arg, struct argp_state *state, const char **input)
{
	if (*input)
		argp_error(state, "one FILE at a time");
	*input = arg;
}

bool view_sorts_by_total(const char *text, struct argp_state *state)
{
	if (strcmp(text, "self") && strcmp(text, "total"))
		argp_error(state, "cannot sort by '%s', only by self or total", text);
	return strcmp(text, "self");
}

uint32_t view_parse_rows(const char *text, const char *what, struct argp_state *state)
{
	uint64_t rows = 0;

	if (!whole_number_parse(text, UINT32_MAX, &rows))
		argp_error(state, "'%s' is not a number of %s", text, what);
	return (uint32_t)rows;
}

static void refine_waits(struct profile *p, const void *context)
{
	(void)context;
	reasons_refine(p);
}

static void fold_waits(struct profile *p, const void *context)
{
	reasons_refine(p);
	idle_fold(p, context);
}

static int load(const char *path, struct load_opts *opts, struct view *ret_view)
{
	int err;

	*ret_view = (struct view){ 0 };
	opts->ret_note = &ret_view->note;
	err = profile_load(path, opts, &ret_view->profile);
	if (!err)
		columns_add_wall(ret_view->profile);
	return err;
}

static int load_whole(const char *path, const struct filter *filter, struct view *ret_view)
{
	struct load_opts opts = { .filter = filter, .on_whole_stacks = refine_waits };

	return load(path, &opts, ret_view);
}

int view_load_busy(const char *path, const struct filter *filter, const struct idle *idle,
		   struct view *ret_view)
{
	struct load_opts opts = {
		.filter = filter,
		.on_whole_stacks = fold_waits,
		.context = idle,
	};

	return load(path, &opts, ret_view);
}

static bool was_filtered(const struct profile *p)
{
	for (int c = 0; c < NR_COLUMNS; c++)
		if (p->filtered.nr_samples[c])
			return true;
	return false;
}

static void warn_of_emptiness(const struct view *v, const char *name)
{
	if (v->summary.idle_samples) {
		log_warning("all that '%s' holds are waits of idle threads", name);
		log_hint("--idle shows them");
	} else if (v->profile->live.kind != LIVE_AT_END && column_is_memory(v->summary.column)) {
		log_info("'%s': no sampled block is of that", name);
	} else if (was_filtered(v->profile)) {
		log_warning("no sample of '%s' is left after filtering", name);
	} else {
		log_warning("'%s' holds no samples", name);
	}
}

int view_build(struct view *v, const char *path, const struct tree_opts *wanted)
{
	const char *name = path ? path : LOAD_DEFAULT_PATH;
	struct tree_opts opts = *wanted;
	int err = opts.event ? view_find_event(v->profile, opts.event, path, &opts.column) : 0;

	if (!err && opts.column_given)
		err = view_check_column(v->profile, opts.column, path);
	if (err)
		return err;
	err = tree_new(v->profile, &opts, &v->tree);
	if (!err)
		err = margins_add(v->tree, v->profile, &opts);
	if (err) {
		log_error(-err, "add up the samples of '%s'", name);
		return err;
	}
	summary_init(&v->summary, v->profile, v->tree, v->note ? v->note : "");
	if (!v->summary.samples && !tree_total(v->tree, v->tree->nodes))
		warn_of_emptiness(v, name);
	return 0;
}

int view_build_by(struct view *v, const char *path, const struct tree_opts *opts,
		  void (*rewrite)(struct profile *p))
{
	struct summary before;
	int err = view_build(v, path, opts);

	if (err || !rewrite || !v->summary.samples)
		return err;
	before = v->summary;
	tree_free(v->tree);
	v->tree = NULL;
	rewrite(v->profile);
	err = view_build(v, path, opts);
	if (!err)
		summary_keep_trust(&v->summary, &before);
	return err;
}

int view_open(const char *path, const struct filter *filter, const struct tree_opts *opts,
	      struct view *ret_view)
{
	struct view v;
	int err = load_whole(path, filter, &v);

	if (!err)
		err = view_build(&v, path, opts);
	if (err)
		view_close(&v);
	else
		*ret_view = v;
	return err;
}

void view_close(struct view *view)
{
	tree_free(view->tree);
	profile_free(view->profile);
	free(view->note);
	*view = (struct view){ 0 };
}

bool view_is_html(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;

	return dot && (!strcasecmp(dot, ".html") || !strcasecmp(dot, ".htm"));
}

/* Reports an error of this write; main() reports one of the last flush. */
static int write_stdout(const struct buffer *b)
{
	int err;

	if (!b->size || fwrite(b->data, 1, b->size, stdout) == b->size)
		return 0;
	err = errno;
	clearerr(stdout);
	__fpurge(stdout);
	if (err == EPIPE)
		return 0; /* the reader closed the pipe early */
	log_error(err, "write to standard output");
	return -err;
}

int view_write(const char *path, const struct buffer *b)
{
	int err;

	if (!path || !strcmp(path, "-"))
		return write_stdout(b);
	err = replace_file(path, b->data, b->size);
	if (err)
		log_error(-err, "write '%s'", path);
	return err;
}
