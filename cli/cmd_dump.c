/*
 * sprof dump: prints the stack of every thread of a process at this moment. It needs no recording;
 * sampler/dump.h takes the stacks.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/all_users.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "cli/options/whole_number.h"
#include "cli/input/view.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/sandbox/sandbox.h"
#include "core/untrusted/remote_read.h"
#include "output/report/dump_write.h"
#include "sampler/dump.h"
#include "symbolizer/symbolizer.h"

enum { OPTION_JSON = 0x100, OPTION_PYTHON, OPTION_WIDE, OPTION_ALL_USERS };

struct cmd_dump_opts {
	pid_t pid;
	const char *output;
	bool all_users, json, python_only, wide;
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "The process (or one of its threads)", 0 },
	{ "all-users", OPTION_ALL_USERS, NULL, 0, ALL_USERS_HELP, 0 },
	{ "output", 'o', "FILE", 0, "Write here (default: standard output)", 0 },
	{ "python", OPTION_PYTHON, NULL, 0, "Python frames only, and only threads that have some",
	  0 },
	{ "wide", OPTION_WIDE, NULL, 0,
	  "Print names and paths in full; otherwise they are cut to the width of the terminal", 0 },
	{ "json", OPTION_JSON, NULL, 0, "For programs: one JSON object, see sprof-dump(1)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_dump_opts *o = state->input;

	switch (key) {
	case 'p': pid_argument(arg, state, &o->pid); return 0;
	case 'o': o->output = arg; return 0;
	case OPTION_ALL_USERS: o->all_users = true; return 0;
	case OPTION_JSON: o->json = true; return 0;
	case OPTION_PYTHON: o->python_only = true; return 0;
	case OPTION_WIDE: o->wide = true; return 0;
	case ARGP_KEY_END:
		if (!o->pid)
			argp_error(state, "name a process (-p PID)");
		if (o->json && o->python_only)
			argp_error(state, "--json holds all frames; their kind says which are "
					  "Python's");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"-p PID",
	"Prints the stacks of all threads of a process at this moment, including threads that "
	"wait, with Python and native frames together. Each thread is stopped for a fraction of a "
	"millisecond.\v"
	"Examples:\n"
	"  sprof dump -p 1234\n"
	"  sprof dump -p 1234 --python\n"
	"  sprof dump -p 1234 --json | jq '.threads[].frames[0].function'\n",
	NULL,
	NULL,
	NULL,
};

static const char *state_name(char state)
{
	switch (state) {
	case 'R': return "running";
	case 'S': return "sleeping";
	case 'D': return "waiting, not to be interrupted";
	case 'T': return "stopped";
	case 't': return "stopped by a debugger";
	case 'I': return "idle";
	case 'Z':
	case 'X': return "ended";
	default: return "in an unknown state";
	}
}

static char *doing(const struct dump_thread *t)
{
	const char *state = state_name(t->state), *in = *t->waits_in ? " in " : "";
	const char *for_what = *t->waits_for ? ": " : "";

	if (t->error == -ESRCH)
		return xstrdup("ended meanwhile");
	if (t->error)
		return xasprintf("%s%s%s%s%s; it could not be stopped: %s", state, in, t->waits_in,
				 for_what, t->waits_for, strerror(-t->error));
	return xasprintf("%s%s%s%s%s", state, in, t->waits_in, for_what, t->waits_for);
}

static void write_task(struct buffer *b, const struct dump *d, const struct dump_task *t, bool json,
		       const struct dump_write_opts *opts)
{
	static const char *const states[] = {
		[PYTHON_TASK_CREATED] = "not started",
		[PYTHON_TASK_SUSPENDED] = "suspended",
		[PYTHON_TASK_RUNNING] = "running",
		[PYTHON_TASK_ENDED] = "ended",
	};
	const char **names = xcalloc(t->nr_awaiters + 1, sizeof(*names));
	const struct dump_task_row row = {
		.profile = d->profile,
		.name = t->name,
		.tid = t->tid,
		.state = states[t->state],
		.has_stack = t->stack != PROFILE_NONE,
		.stack = t->stack,
		.awaited_by = names,
		.nr_awaited_by = t->nr_awaiters,
	};

	for (size_t i = 0; i < t->nr_awaiters; i++)
		names[i] = d->tasks[t->awaiters[i]].name;
	if (json)
		dump_write_task_json(b, &row);
	else
		dump_write_task(b, &row, opts);
	free(names);
}

static void write_tasks(struct buffer *b, const struct dump *d, bool json,
			const struct dump_write_opts *opts)
{
	if (json)
		buffer_add_string(b, "\n],\n\"tasks\": [\n");
	for (size_t i = 0; i < d->nr_tasks; i++) {
		if (i && json)
			buffer_add_string(b, ",\n");
		write_task(b, d, &d->tasks[i], json, opts);
	}
}

static void write_dump(struct buffer *b, const struct dump *d, const struct cmd_dump_opts *o)
{
	const struct terminal terminal = terminal_of(o->output);
	const struct dump_write_opts opts = {
		.python_only = o->python_only,
		.color = terminal.color,
		.unicode = terminal.unicode,
		.columns = o->wide ? 0 : terminal.columns,
	};

	if (o->json)
		buffer_printf(b, "{\n\"version\": 1,\n\"pid\": %d,\n\"threads\": [\n", (int)o->pid);
	for (size_t i = 0; i < d->nr_threads; i++) {
		const struct dump_thread *t = &d->threads[i];
		char *what = doing(t);
		const struct dump_row row = {
			.profile = d->profile,
			.tid = t->tid,
			.name = t->name,
			.doing = what,
			.waits_for = t->waits_for,
			.has_stack = t->stack != PROFILE_NONE,
			.stack = t->stack,
			.stopped_ns = t->stopped_ns,
		};

		if (o->json) {
			buffer_add_string(b, i ? ",\n" : "");
			dump_write_json(b, &row);
		} else {
			dump_write_row(b, &row, &opts);
		}
		free(what);
	}
	write_tasks(b, d, o->json, &opts);
	if (o->json)
		buffer_printf(b, "\n],\n\"unread_tasks\": %zu\n}\n", d->nr_unread_tasks);
}

/* Taking stacks needs borrowed rights; naming frames, which reads the target's files, does not. */
static int take_dump(pid_t pid, const struct sandbox *sandbox, struct dump **ret_dump)
{
	char why[256] = "", hint[256] = "";
	int err;

	privileges_reduce(PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_DAC_OVERRIDE));
	privileges_use(RIGHTS_BORROWED);
	err = dump_new(pid, sandbox, ret_dump, why, sizeof(why), hint, sizeof(hint));
	privileges_use(RIGHTS_OF_CALLER);
	if (!err)
		return 0;
	log_error(0, "take the stacks of process %d: %s", (int)pid, why);
	if (*hint)
		log_hint("%s", hint);
	return err;
}

static int dump_main(int argc, char **argv)
{
	struct symbolizer_opts symbolizer = {
		.open_module = dump_open_module,
		.open_root = dump_open_root,
	};
	struct symbolizer_stats stats;
	struct sandbox *sandbox;
	struct cmd_dump_opts o = { 0 };
	struct buffer b = { 0 };
	struct all_users users;
	struct dump *d;
	int err;

	parse_args(&argp, argc, argv, &o);
	users = (struct all_users){ .asked = o.all_users, .pids = &o.pid, .nr_pids = 1 };
	if (all_users_check(&users))
		return 1;
	privileges_use(RIGHTS_BORROWED);
	err = remote_read_start();
	privileges_use(RIGHTS_OF_CALLER);
	if (!err)
		err = sandbox_new(&sandbox);
	if (err) {
		log_error(-err, "start the processes that read others and parse files");
		return 1;
	}
	if (take_dump(o.pid, sandbox, &d)) {
		sandbox_free(sandbox);
		return 1;
	}
	if (*d->python)
		log_warning("no Python frames: %s", d->python);
	if (d->nr_unread_tasks)
		log_warning("%zu asyncio tasks or more are not shown besides these %zu: a thread "
			    "is stopped for no longer than %u ms",
			    d->nr_unread_tasks, d->nr_tasks, DUMP_STOP_MS);
	symbolizer.context = d;
	symbolizer.sandbox = sandbox;
	symbolizer_run(d->profile, &symbolizer, &stats);
	write_dump(&b, d, &o);
	err = 0;
	if (o.python_only && !b.size) {
		log_error(0, "show Python frames of process %d: it has none", (int)o.pid);
		err = 1;
	}
	if (!err)
		err = view_write(o.output, &b);
	buffer_fini(&b);
	dump_free(d);
	sandbox_free(sandbox);
	return err ? 1 : 0;
}

const struct command cmd_dump = {
	.name = "dump",
	.argp = &argp,
	.help = "print what every thread of a process does now",
	.samples = true,
	.main = dump_main,
};
