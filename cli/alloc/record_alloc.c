/*
 * A program that sprof starts is hooked at its entry point: its libraries are mapped by then, and
 * none of its own code has run.
 */
#include "cli/alloc/record_alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc/alloc_functions.h"
#include "cli/alloc/follow_alloc.h"
#include "cli/options/byte_size.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "sampler/alloc/allocations.h"
#include "sampler/inject/entry_stop.h"

#define INTERVAL_MIN 1024u
#define INTERVAL_MAX (1ull << 36)

#define OPT_ALLOC 0xa00

static const struct argp_option options[] = {
	{ "alloc", OPT_ALLOC, "INTERVAL", OPTION_ARG_OPTIONAL,
	  "Also sample the memory that the processes allocate, on average each INTERVAL bytes "
	  "(64k, 2m; default: up to 2000 samples in a second of CPU time): columns allocated and "
	  "live; their allocation functions are hooked while it records. --alloc=python: only what "
	  "Python code asked for, itself or through a library. --alloc=growth, of any "
	  "targets: hook nothing, and sample where memory in RAM grows, by page faults. "
	  "--alloc=tensor: what PyTorch's allocators hand out, GPU memory first of all, every "
	  "block of it: columns gpu-allocated and gpu-live; alone, nothing else is hooked",
	  0 },
	{ 0 }
};

static uint64_t parse_interval(const char *text, struct argp_state *state)
{
	uint64_t bytes = byte_size_parse(text);

	if (bytes < INTERVAL_MIN || bytes > INTERVAL_MAX)
		argp_error(state, "'%s' is no interval between 1k and 64g, such as 64k or 2m",
			   text);
	return bytes;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_alloc_opts *o = state->input;

	if (key != OPT_ALLOC)
		return ARGP_ERR_UNKNOWN;
	if (arg && !strcmp(arg, "growth")) {
		o->growth = true;
		return 0;
	}
	if (arg && !strcmp(arg, "tensor")) {
		o->tensors = true;
		return 0;
	}
	o->wanted = true;
	if (arg && !strcmp(arg, "python")) {
		o->python = true;
		return 0;
	}
	o->interval = arg ? parse_interval(arg, state) : 0;
	return 0;
}

const struct argp record_alloc_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

void alloc_opts_check(const struct record_alloc_opts *o, size_t nr_named, bool program,
		      bool no_python, const char *segments, const char *source,
		      struct argp_state *state)
{
	if (o->python && no_python)
		argp_error(state, "--alloc=python and --no-python exclude each other");
	if (o->growth && (!strcmp(source, "perf") || !strcmp(source, "timer")))
		argp_error(state, "source %s does not see memory grow, only ebpf does", source);
	if ((o->wanted || o->tensors) && !nr_named && !program)
		argp_error(state, "--alloc needs -p or a program: it samples the memory of chosen "
				  "processes");
	if ((o->wanted || o->tensors) && segments)
		argp_error(state, "--alloc has no place in segments yet: it takes no --continuous");
}

struct record_alloc {
	struct allocations *allocations;
	struct follow_alloc *follow;
	struct entry_stop stop;
};

/* Each named process must be hooked, unless growth is sampled too. Children may fail, later. */
static int add_processes(struct record_alloc *a, const struct record_alloc_config *c)
{
	int err = 0;

	for (size_t i = 0; i < c->nr_pids && !err; i++) {
		err = follow_alloc_add(a->follow, c->pids[i]);
		if (err && c->opts->growth) {
			log_warning("of process %d only growth of memory is sampled",
				    (int)c->pids[i]);
			err = 0;
		}
	}
	return err;
}

int record_alloc_open(const struct record_alloc_config *c, struct record_alloc **ret)
{
	struct record_alloc *a;
	int err;

	*ret = NULL;
	if (!c->opts->wanted && !c->opts->tensors)
		return 0;
	a = xcalloc(1, sizeof(*a));
	err = allocations_new(c->opts->interval, !c->no_python, c->sandbox, c->cache,
			      &a->allocations);
	if (err) {
		log_error(-err, "share memory with targets");
		free(a);
		return err;
	}
	a->stop.serve = c->serve;
	a->stop.context = c->context;
	if (c->opts->python)
		allocations_keep_pythons(a->allocations);
	if (!c->opts->wanted)
		allocations_only_tensors(a->allocations);
	a->follow = follow_alloc_new(a->allocations,
				     (c->opts->wanted ? ALLOC_WANT_MALLOC : 0u) |
					     (c->opts->tensors ? ALLOC_WANT_TENSORS : 0u),
				     c->sandbox, !c->no_children);
	err = add_processes(a, c);
	if (err)
		record_alloc_free(a);
	else
		*ret = a;
	return err;
}

void record_alloc_free(struct record_alloc *a)
{
	if (!a)
		return;
	follow_alloc_free(a->follow);
	allocations_free(a->allocations);
	free(a);
}

static int cannot_start(int err)
{
	log_error(-err, "stop the program at its entry point");
	log_hint("start it without --alloc and use sprof record --alloc -p PID");
	return err;
}

int record_alloc_follow_program(struct record_alloc *a, pid_t pid)
{
	int err = a ? entry_stop_follow(&a->stop, pid) : 0;

	return err ? cannot_start(err) : 0;
}

int record_alloc_hook_program(struct record_alloc *a, bool *ret_ended, int *ret_status)
{
	int err = a ? entry_stop_arrive(&a->stop) : 0;

	if (!a)
		return 0;
	*ret_ended = a->stop.has_ended;
	*ret_status = a->stop.status;
	if (*ret_ended)
		return 0; /* no error of ours: its exit status says why */
	if (!err) {
		err = follow_alloc_add(a->follow, a->stop.pid);
		if (!err)
			err = entry_stop_release(&a->stop);
		else
			a->stop.has_ended = true; /* its error was reported; it is killed below */
	}
	if (err && !a->stop.has_ended)
		cannot_start(err);
	if (err)
		kill(a->stop.pid, SIGKILL);
	return err;
}

void record_alloc_start(struct record_alloc *a)
{
	if (a)
		allocations_start(a->allocations);
}

void record_alloc_drain(struct record_alloc *a, struct sink *sink)
{
	if (!a)
		return;
	allocations_drain(a->allocations, sink);
	follow_alloc_look(a->follow, sink);
}

void record_alloc_stop(struct record_alloc *a, struct sink *sink)
{
	if (a)
		allocations_stop(a->allocations, sink);
}

void record_alloc_say_missed(const struct record_alloc *a, const struct profile *profile)
{
	if (a)
		follow_alloc_say_missed(a->follow, profile);
}

const struct allocations *record_alloc_allocations(const struct record_alloc *a)
{
	return a ? a->allocations : NULL;
}

/* For processes of other users: their threads are stopped and their memory is written. */
uint64_t record_alloc_privileges(const struct record_alloc *a)
{
	return a ? PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_DAC_OVERRIDE) : 0;
}
