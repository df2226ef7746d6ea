/* Finds the functions of each process, and has them hooked. */
#include "cli/alloc/record_alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc/alloc_functions.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "sampler/alloc/allocations.h"

#define INTERVAL_MIN 1024u
#define INTERVAL_MAX (1ull << 36)

#define OPT_ALLOC 0xa00

static const struct argp_option options[] = {
	{ "alloc", OPT_ALLOC, "INTERVAL", OPTION_ARG_OPTIONAL,
	  "With -p: also sample the memory that these processes allocate, on average each INTERVAL "
	  "bytes (64k, 2m; default: so that 2000 samples come in a second): columns allocated and "
	  "live; their allocation functions are hooked while it records",
	  0 },
	{ 0 }
};

static uint64_t parse_interval(const char *text, struct argp_state *state)
{
	static const char units[] = "kmg";
	const char *unit;
	char *end;
	double value = strtod(text, &end);

	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		value *= (double)(1024ull << (10 * (unit - units)));
		end++;
	}
	if (end == text || *end || !(value >= INTERVAL_MIN && value <= (double)INTERVAL_MAX))
		argp_error(state, "'%s' is no interval between 1k and 64g, such as 64k or 2m",
			   text);
	return (uint64_t)value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_alloc_opts *o = state->input;

	if (key != OPT_ALLOC)
		return ARGP_ERR_UNKNOWN;
	o->wanted = true;
	o->interval = arg ? parse_interval(arg, state) : 0;
	return 0;
}

const struct argp record_alloc_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

void alloc_opts_check(const struct record_alloc_opts *o, size_t nr_named, const char *segments,
		      const char *source, struct argp_state *state)
{
	if (o->wanted && !nr_named)
		argp_error(state, "--alloc needs -p: it samples the memory of running processes");
	if (o->wanted && segments)
		argp_error(state, "--alloc has no place in segments yet: it takes no --continuous");
	if (o->wanted && !strcmp(source, "timer"))
		argp_error(state, "--alloc and source timer both put code into a process: only "
				  "one of them can");
}

static int refuse(pid_t pid, int err, const struct inject_reason *reason)
{
	log_error(reason->why[0] ? 0 : -err, "sample the allocations of process %d%s%s", (int)pid,
		  reason->why[0] ? ": " : "", reason->why);
	if (reason->hint[0])
		log_hint("%s", reason->hint);
	return err;
}

static int attach(struct allocations *a, pid_t pid, const struct sandbox *sandbox)
{
	struct inject_reason reason = { "", "" };
	struct alloc_function *functions;
	char *note;
	size_t nr;
	int err;

	alloc_functions_find(pid, sandbox, &functions, &nr, &note);
	if (!nr) {
		inject_refuse(&reason, -ENOENT,
			      "a static program without symbols has none that can be found; "
			      "-e page-faults shows where memory grows",
			      "none of its files defines malloc");
		free(note);
		return refuse(pid, -ENOENT, &reason);
	}
	err = allocations_attach(a, pid, functions, nr, &reason);
	alloc_functions_free(functions, nr);
	if (!err && note)
		log_warning("process %d: %s", (int)pid, note);
	free(note);
	return err ? refuse(pid, err, &reason) : 0;
}

int record_alloc_open(const struct record_alloc_opts *opts, const char *source, const pid_t *pids,
		      size_t nr_pids, const struct sandbox *sandbox, struct table_cache *cache,
		      struct allocations **ret)
{
	struct allocations *a;
	int err;

	*ret = NULL;
	if (!opts->wanted)
		return 0;
	if (!strcmp(source, "timer")) {
		log_error(0, "sample allocations: the source timer puts code of its own into the "
			     "process");
		log_hint("use --source ebpf or perf");
		return -ENOTSUP;
	}
	err = allocations_new(opts->interval, sandbox, cache, &a);
	if (err) {
		log_error(-err, "share memory with targets");
		return err;
	}
	for (size_t i = 0; i < nr_pids && !err; i++)
		err = attach(a, pids[i], sandbox);
	if (err) {
		allocations_free(a);
		return err;
	}
	*ret = a;
	return 0;
}

/* Those of a process of another user: its threads are held, and its memory is written. */
uint64_t record_alloc_privileges(const struct allocations *a)
{
	return a ? PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_DAC_OVERRIDE) : 0;
}
