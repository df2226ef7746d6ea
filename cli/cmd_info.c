/*
 * sprof info: prints what a recording holds (who was sampled, when, how) and what is missing from
 * it. cli/info counts and prints.
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/info/info.h"
#include "cli/info/info_print.h"
#include "cli/input/load.h"
#include "cli/options/filter_opts.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "core/segments/segments_read.h"
#include "output/select/filter.h"

enum { KEY_JSON = 256 };

struct info_options {
	const char *path; /* NULL: the default */
	bool json;
	struct filter *filter; /* NULL: all */
};

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "For programs: one JSON object, see sprof-info(1)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->filter; return 0;
	case KEY_JSON: o->json = true; return 0;
	case ARGP_KEY_ARG:
		if (o->path)
			argp_error(state, "one file at a time, not '%s' as well", arg);
		o->path = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[FILE]",
	.doc = "Says what a recording (default: " LOAD_DEFAULT_PATH
	       ") holds: what was sampled, when, how, "
	       "and what is missing; - reads standard input.\v"
	       "Examples:\n"
	       "  sprof info\n"
	       "  sprof info old.data\n"
	       "  sprof info --json | jq .samples\n"
	       "  sprof info --from -2h /var/lib/sprof\n",
	.children = (const struct argp_child[]){ { &filter_argp, 0, "Filters:", 1 }, { 0 } },
};

static int info_main(int argc, char **argv)
{
	struct info_options o = { 0 };
	char *note = NULL;
	struct segments_found found = { 0 };
	struct load_opts load = {
		.no_symbols = true,
		.no_warnings = true,
		.ret_note = &note,
		.ret_found = &found,
	};
	const struct terminal terminal = terminal_of(NULL);
	struct info_file file = { .columns = terminal.columns, .unicode = terminal.unicode };
	struct buffer b = { 0 };
	struct info info;
	struct profile *p;
	struct stat st;

	parse_args(&argp, argc, argv, &o);
	load.filter = o.filter;
	if (profile_load(o.path, &load, &p))
		return 1;
	file.path = o.path ? o.path : LOAD_DEFAULT_PATH;
	file.note = note;
	if (found.nr) {
		file.segments = &found;
		file.size_bytes = found.size_bytes;
	} else if (strcmp(file.path, "-") && stat(file.path, &st) == 0)
		file.size_bytes = (uint64_t)st.st_size;
	info_init(&info, p);
	if (o.json)
		info_print_json(&b, &info, p, &file);
	else
		info_print_text(&b, &info, p, &file);
	if (!o.json)
		terminal_fold(&terminal, &b);
	fwrite(b.data, 1, b.size, stdout);
	buffer_fini(&b);
	info_fini(&info);
	filter_free(o.filter);
	free(found.marks);
	profile_free(p);
	free(note);
	return 0;
}

const struct command cmd_info = {
	.name = "info",
	.argp = &argp,
	.help = "say what a recording holds, and what is missing from it",
	.main = info_main,
};
