/*
 * sprof mark: remembers a moment of a flight recorder's folder under a text, by which --from and
 * --to find it again.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/options/parse_args.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/segments/marks.h"

struct mark_opts {
	const char *folder, *text;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct mark_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (o->text)
			argp_error(state, "one text at a time, not '%s' as well: put it in quotes",
				   arg);
		if (o->folder)
			o->text = arg;
		else
			o->folder = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->folder)
			argp_error(state, "give the folder of sprof record --continuous");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "DIR [TEXT]",
	.doc = "Marks this moment in the folder of a flight recorder (sprof record --continuous), "
	       "under a text (default: mark). sprof info shows marks, and --from mark:TEXT and "
	       "--to mark:TEXT begin and end at the last mark of that text.\v"
	       "Examples:\n"
	       "  sprof mark /var/lib/sprof 'deploy 417'\n"
	       "  sprof flame --from 'mark:deploy 417' -o after.svg /var/lib/sprof\n",
};

static int mark_main(int argc, char **argv)
{
	struct mark_opts o = { 0 };
	int fd, err;

	parse_args(&argp, argc, argv, &o);
	fd = open(o.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		log_error(errno, "open '%s'", o.folder);
		return 1;
	}
	err = marks_add(fd, realtime_ns(), o.text ? o.text : "mark");
	close(fd);
	if (err == -EFBIG) {
		log_error(0, "add a mark to '%s': it has too many", o.folder);
		log_hint("delete '%s/marks', which forgets all of them", o.folder);
	} else if (err) {
		log_error(-err, "add a mark to '%s'", o.folder);
	}
	return err ? 1 : 0;
}

const struct command cmd_mark = {
	.name = "mark",
	.argp = &argp,
	.help = "mark this moment in the folder of a flight recorder",
	.main = mark_main,
};
