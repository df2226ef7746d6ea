/*
 * sprof push: sends a profile to an engine that a fleet looks at. A child process without rights
 * reads it (cli/push/request_pipe.h), this one sends.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/input/load.h"
#include "cli/options/help_list.h"
#include "cli/options/parse_args.h"
#include "cli/push/push_opts.h"
#include "cli/push/push_summary.h"
#include "cli/push/request_pipe.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "core/rights/privileges.h"
#include "output/push/pusher.h"
#include "output/report/grid.h"

struct push {
	const char *input, *url;
	struct push_opts opts;
};

static void take(const char *word, const char **to, struct argp_state *state)
{
	if (*to)
		argp_error(state, "one FILE and one URL at a time");
	*to = word;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct push *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->opts; return 0;
	case ARGP_KEY_ARG:
		if (strstr(arg, "://"))
			take(arg, &o->url, state);
		else
			take(arg, &o->input, state);
		return 0;
	case ARGP_KEY_END:
		if (!o->url)
			argp_error(state, "where to? name a URL, such as http://HOST:4318");
		push_opts_set_url(&o->opts, o->url, state);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static char *help_filter(int key, const char *text, void *input)
{
	struct grid receivers;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	help_list_init(&receivers);
	for (const struct receiver *const *r = receiver_table; *r; r++)
		help_list_add(&receivers, (*r)->name, "", (*r)->help);
	return help_list_end(&receivers, "Receivers", text);
}

static const struct argp argp = {
	NULL,
	parse,
	"[FILE] URL",
	"Sends a recording (default: sprof.data), or whatever else sprof reads, to an engine that "
	"stores profiles; - reads standard input.\v"
	"Examples:\n"
	"  sprof push http://localhost:4318\n"
	"  sprof push app.data pyroscope+https://example.com --label service=shop\n"
	"  sprof push app.data http://parca:7070 --spool /var/spool/sprof\n"
	"  sprof push app.data grpc://collector:4317\n",
	(const struct argp_child[]){ { &push_opts_argp, 0, NULL, 0 }, { 0 } },
	help_filter,
	NULL,
};

/* The child: reads, and writes requests. Returns its exit status. */
static int read_profile(const struct push *o, int fd)
{
	struct profile *p;
	int err;

	privileges_only_read();
	if (profile_load(o->input, NULL, &p))
		return 1;
	if (!p->nr_samples)
		log_warning("'%s' holds no samples: nothing is pushed",
			    o->input ? o->input : LOAD_DEFAULT_PATH);
	err = request_pipe_write(fd, p, o->opts.url.receiver, &o->opts.labels);
	if (err && err != -EPIPE)
		log_error(-err, "push '%s'", o->input ? o->input : LOAD_DEFAULT_PATH);
	profile_free(p);
	return err ? 1 : 0;
}

/* Starts the child. Returns the pipe from which to read requests, or -errno, reported. */
static int start_reader(const struct push *o, pid_t *ret_child)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC)) {
		err = errno;
		log_error(err, "make a pipe");
		return -err;
	}
	*ret_child = fork();
	if (!*ret_child) {
		close(ends[0]);
		_exit(read_profile(o, ends[1]));
	}
	err = *ret_child < 0 ? errno : 0;
	close(ends[1]);
	if (!err)
		return ends[0];
	close(ends[0]);
	log_error(err, "start a process that reads the profile");
	return -err;
}

static int push(const struct push *o)
{
	struct pusher *pusher;
	int fd, err, status = 1;
	pid_t child = -1;

	fd = start_reader(o, &child);
	if (fd < 0)
		return 1;
	privileges_drop();
	err = push_opts_open(&o->opts, &pusher);
	if (!err) {
		err = request_pipe_send(fd, pusher);
		pusher_send_spool(pusher);
		if (push_summary(&o->opts, pusher))
			err = -EIO;
		pusher_close(pusher);
	}
	close(fd);
	if (waitpid(child, &status, 0) < 0)
		return 1;
	return err || status ? 1 : 0;
}

static int push_main(int argc, char **argv)
{
	struct push o = { .opts = PUSH_OPTS_DEFAULT };
	int status;

	parse_args(&argp, argc, argv, &o);
	status = push(&o);
	push_opts_fini(&o.opts);
	return status;
}

const struct command cmd_push = {
	.name = "push",
	.argp = &argp,
	.sends = true,
	.help = "send a profile to Pyroscope, Parca or an OpenTelemetry Collector",
	.main = push_main,
};
