/*
 * sprof export: writes a profile in a format of another program. The formats are the exporters of
 * output/export; the help text lists them from the same table.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options/export_format.h"
#include "cli/options/filter_opts.h"
#include "cli/options/help_list.h"
#include "cli/input/load.h"
#include "cli/input/view.h"
#include "cli/options/parse_args.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/codec/gzip.h"
#include "output/export/exporter.h"
#include "output/report/grid.h"
#include "output/select/filter.h"

struct export_opts {
	const char *input, *output;
	const struct exporter *exporter;
	struct filter *filter;
};

static const struct argp_option options[] = {
	{ "format", 'f', "FORMAT", 0, "One of the formats below (default: by what OUT ends in)",
	  0 },
	{ "output", 'o', "OUT", 0,
	  "Write here (default: standard output), compressed if OUT ends in .gz; DIR/ for torch: a "
	  "file per process",
	  0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct export_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->filter; return 0;
	case 'f': o->exporter = export_parse_format(arg, state); return 0;
	case 'o': o->output = arg; return 0;
	case ARGP_KEY_ARG: view_take_input(arg, state, &o->input); return 0;
	case ARGP_KEY_END:
		if (!o->exporter && o->output)
			o->exporter = exporter_guess(o->output);
		if (!o->exporter)
			argp_error(state,
				   o->output ? "'%s' does not end as any format: say -f FORMAT"
					     : "which format? say -f FORMAT",
				   o->output);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Puts the table of formats before the examples. */
static char *help_filter(int key, const char *text, void *input)
{
	struct grid formats;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	help_list_init(&formats);
	for (const struct exporter *const *e = exporter_table; *e; e++)
		help_list_add(&formats, (*e)->name, (*e)->suffix, (*e)->help);
	return help_list_end(&formats, "Formats", text);
}

static const struct argp argp = {
	options,
	parse,
	"[FILE]",
	"Writes a recording (default: sprof.data), or whatever else sprof reads, in a format of "
	"other programs; - reads standard input.\v"
	"Examples:\n"
	"  sprof export -o profile.pb.gz && go tool pprof -top profile.pb.gz\n"
	"  sprof export -o app.trace.json.gz\n"
	"  sprof export -f torch -o traces/ && tensorboard --logdir traces\n",
	(const struct argp_child[]){ { &filter_argp, 0, "Filters:", 1 }, { 0 } },
	help_filter,
	NULL,
};

/* Leaves formats alone that their exporter has gzipped already. */
static void compress(struct buffer *b)
{
	struct buffer plain = *b;

	if (gzip_is(plain.data, plain.size))
		return;
	*b = (struct buffer){ 0 };
	gzip_compress(b, plain.data, plain.size);
	buffer_fini(&plain);
}

static void report_error(const struct export_opts *o, int err)
{
	char *what = xasprintf("'%s'", o->input ? o->input : LOAD_DEFAULT_PATH);

	export_report_error(o->exporter, err, what);
	free(what);
}

/* The folder that an export of several files is written to. */
struct folder {
	const char *path;
	bool failed; /* a file could not be written, which was reported */
};

static int write_file(void *context, const char *name, struct buffer *b)
{
	struct folder *to = context;
	char *path = xasprintf("%s%s", to->path, name);
	int err;

	if (exporter_is_gzipped(name))
		compress(b);
	err = view_write(path, b);
	to->failed = err;
	if (!err)
		log_info("wrote %s", path);
	free(path);
	return err;
}

static int write_folder(const struct export_opts *o, const struct profile *p)
{
	struct folder to = { .path = o->output };
	int err;

	if (!o->exporter->write_files) {
		log_error(0, "write '%s': %s is one file, and the name ends as a folder's",
			  o->output, o->exporter->name);
		return -EISDIR;
	}
	if (mkdir(o->output, 0777) && errno != EEXIST) {
		err = -errno;
		log_error(-err, "make the folder '%s'", o->output);
		return err;
	}
	err = o->exporter->write_files(p, write_file, &to);
	if (err && !to.failed)
		report_error(o, err);
	return err;
}

static bool is_folder(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n && path[n - 1] == '/';
}

static int write_export(const struct export_opts *o, const struct profile *p)
{
	struct buffer b = { 0 };
	int err;

	if (is_folder(o->output))
		return write_folder(o, p);
	err = o->exporter->write(&b, p);
	if (err)
		report_error(o, err);
	if (!err && o->output && exporter_is_gzipped(o->output))
		compress(&b);
	if (!err)
		err = view_write(o->output, &b);
	buffer_fini(&b);
	return err;
}

static int export_main(int argc, char **argv)
{
	struct export_opts o = { 0 };
	struct profile *p;
	int err;

	parse_args(&argp, argc, argv, &o);
	err = profile_load(o.input, &(struct load_opts){ .filter = o.filter }, &p);
	filter_free(o.filter);
	if (err)
		return 1;
	err = write_export(&o, p);
	profile_free(p);
	return err ? 1 : 0;
}

const struct command cmd_export = {
	.name = "export",
	.argp = &argp,
	.help = "write a profile in a format of other programs",
	.main = export_main,
};
