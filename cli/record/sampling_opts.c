/*
 * Parses what is sampled, how often, by which source and clock, and refuses combinations that
 * cannot work.
 */
#include "cli/record/sampling_opts.h"

#include <argp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gpu/gpu_opts.h"
#include "cli/options/all_users.h"
#include "cli/options/duration.h"
#include "cli/options/event_specs.h"
#include "cli/options/whole_number.h"
#include "cli/record/record_opts.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/source.h"

#define DEFAULT_ATTACH_HZ 99 /* coprime to usual timer rates; cheap enough for production */
#define DEFAULT_LAUNCH_HZ 999
#define MAX_PIDS 4096

enum { /* keys of the options without a letter */
       OPT_DEBUGINFOD = 256,
       OPT_NO_PYTHON,
       OPT_GPU,
       OPT_CLOCK,
       OPT_LATENCY,
       OPT_WAKERS,
       OPT_WAIT_PERIOD,
       OPT_BACKTRACE,
       OPT_KINDS,
       OPT_OVERHEAD,
       OPT_PROCESSES,
       OPT_ALL_USERS,
       OPT_NO_CHILDREN,
       OPT_NO_CACHE,
       OPT_CGROUP
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID|NAME[,...]", 0,
	  "Sample these processes, by number or name, and all that they have started or will start",
	  0 },
	{ "cgroup", OPT_CGROUP, "PATH", 0,
	  "Sample the processes of this cgroup (version 2) and of those below it, now and later; "
	  "PATH is as in /proc/PID/cgroup, or below /sys/fs/cgroup; may be given more than once",
	  0 },
	{ "user", 'u', "USER", 0,
	  "Sample the processes of this user, by name or number, now and later", 0 },
	{ "no-children", OPT_NO_CHILDREN, NULL, 0,
	  "Sample the named processes or the program alone, without what they start", 0 },
	{ "all", 'a', NULL, 0, "Sample the whole system", 0 },
	{ "all-users", OPT_ALL_USERS, NULL, 0, ALL_USERS_HELP, 0 },
	{ "freq", 'F', "HZ", 0,
	  "Samples per second and CPU (default: 99 when attaching, 999 for a program)", 0 },
	{ "duration", 'd', "TIME", 0,
	  "Stop after this long: 30, 30s, 500ms, 5m, 1h (a program runs on, and is waited for)",
	  0 },
	{ "cuda-backtrace", OPT_BACKTRACE, "CALLS", 0,
	  "CUDA calls that get a stack: all (default), kernel, memory, sync, some with commas; "
	  "with :80us only those that take that long",
	  0 },
	{ "source", 's', "SOURCE", 0,
	  "How samples are taken: auto (default; the best that works here), ebpf, perf, timer", 0 },
	{ "event", 'e', "EVENT[@PERIOD][,...]", 0,
	  "Events that take samples: the clock (auto, the default; cpu-clock, cycles), and events "
	  "with a column each: page-faults, context-switches, instructions, cache-misses, "
	  "CATEGORY:NAME of a tracepoint, r1a8, names of the host's PMUs; see sprof-record(1)",
	  0 },
	{ "count", 'c', "PERIOD", 0,
	  "With -e: take a sample at every PERIODth event (default: as often as --freq says; of a "
	  "tracepoint, at each)",
	  0 },
	{ "debuginfod", OPT_DEBUGINFOD, NULL, 0,
	  "At the end, fetch debug files that this machine lacks from the servers in "
	  "$DEBUGINFOD_URLS",
	  0 },
	{ "no-python", OPT_NO_PYTHON, NULL, 0,
	  "Show the interpreter's own frames instead of those of the Python code that it runs", 0 },
	{ "no-cache", OPT_NO_CACHE, NULL, 0,
	  "Build all unwind tables anew: neither read nor write those that are kept in "
	  "~/.cache/sprof",
	  0 },
	{ "gpu", OPT_GPU, "auto|on|off", 0,
	  "Collect GPU work and NVTX ranges (default: auto, of programs that have them)", 0 },
	{ "gpu-processes", OPT_PROCESSES, "all|children|rank0", 0,
	  "Collect GPU work of all processes (default), of the children of PROG only, or of those "
	  "of rank 0 in a distributed job",
	  0 },
	{ "gpu-kinds", OPT_KINDS, "LIST", 0,
	  "Collect only these kinds of GPU work, such as kernels,copies or -waits,-memory", 0 },
	{ "max-overhead", OPT_OVERHEAD, "PERCENT", 0,
	  "Let recording take at most that share of one CPU, by sampling less often, and the GPU "
	  "library of the time of threads that launch",
	  0 },
	{ "clock", OPT_CLOCK, "cpu|wall|off", 0,
	  "Time that is sampled: of threads that run (cpu, the default), also of those that wait, "
	  "or only of those; the source perf samples no waits, and timer has no off",
	  0 },
	{ "latency", OPT_LATENCY, NULL, 0,
	  "Also divide each CPU sample by the number of threads of the target that run then (all, "
	  "with -a): the column latency shows what the elapsed time goes to, serial code most",
	  0 },
	{ "wait-period", OPT_WAIT_PERIOD, "TIME", 0,
	  "With --clock wall or off: sample each wait of this time or longer, up to 2000 a second; "
	  "of shorter waits, one each time that they add up to this time (default: 1ms)",
	  0 },
	{ "wakers", OPT_WAKERS, NULL, 0,
	  "With --clock wall or off: on top of the stack of a wait, show which thread ended it, "
	  "and from where",
	  0 },
	{ "verbose", 'v', NULL, 0, "Print more messages", 0 },
	{ 0 }
};

static uint64_t parse_wait_period(const char *text, struct argp_state *state)
{
	uint64_t ns = duration_argument(text, state);

	if (ns < SOURCE_MIN_WAIT_PERIOD_NS || ns > SOURCE_MAX_WAIT_PERIOD_NS)
		argp_error(state, "'%s' is not a time from 100us to 1s", text);
	return ns;
}

static enum source_clock parse_clock(const char *text, struct argp_state *state)
{
	static const char *const names[] = { "cpu", "wall", "off" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i]))
			return (enum source_clock)i;
	argp_error(state, "there is no clock '%s', only cpu, wall and off", text);
	return CLOCK_CPU;
}

static void add_pid(struct record_opts *o, const char *number, struct argp_state *state)
{
	pid_t pid = 0;

	pid_argument(number, state, &pid);
	o->pids = xgrow(o->pids, &o->pids_capacity, o->nr_pids + 1, sizeof(*o->pids));
	o->pids[o->nr_pids++] = pid;
}

/* Parses "12,13" or "nginx": what is not a number is a name, to be looked up later. */
static void parse_pids(const char *text, struct record_opts *o, struct argp_state *state)
{
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		char *item = xasprintf("%.*s", (int)length, at);

		if (!length || o->nr_pids + o->nr_names == MAX_PIDS)
			argp_error(state, "'%s' is not a list of process numbers or names", text);
		if (strspn(item, "0123456789") == length || item[0] == '-') {
			add_pid(o, item, state);
			free(item);
		} else {
			o->names = xgrow(o->names, &o->names_capacity, o->nr_names + 1,
					 sizeof(*o->names));
			o->names[o->nr_names++] = item;
		}
		at += length;
		if (!*at)
			return;
	}
}

static void add_cgroup(const char *path, struct record_opts *o, struct argp_state *state)
{
	if (!*path)
		argp_error(state, "'' is not the path of a cgroup");
	if (o->nr_cgroups == SOURCE_MAX_CGROUPS)
		argp_error(state, "at most %d cgroups", SOURCE_MAX_CGROUPS);
	o->cgroups =
		xgrow(o->cgroups, &o->cgroups_capacity, o->nr_cgroups + 1, sizeof(*o->cgroups));
	o->cgroups[o->nr_cgroups++] = xstrdup(path);
}

static void parse_user(const char *text, struct record_opts *o, struct argp_state *state)
{
	const struct passwd *user = getpwnam(text);
	uint64_t number = 0;

	if (!user && !whole_number_parse(text, UINT32_MAX - 1, &number))
		argp_error(state, "there is no user '%s'", text);
	if (o->by_user)
		argp_error(state, "one user at a time");
	o->by_user = true;
	o->user = user ? user->pw_uid : (uid_t)number;
}

static void parse_events(const char *text, struct record_opts *o, struct argp_state *state)
{
	const char *wrong = event_specs_parse(text, &o->event, &o->events);

	if (wrong)
		argp_error(state, "'%s': %s", text, wrong);
}

static void parse_count(const char *text, struct record_opts *o, struct argp_state *state)
{
	o->event_period = event_specs_period(text);
	if (!o->event_period)
		argp_error(state, "'%s' is not a number of events, 1 or more", text);
}

static void check_events(struct record_opts *o, struct argp_state *state)
{
	if (!event_specs_set_period(o->event_period, &o->event, &o->events))
		argp_error(state, "-c needs -e EVENT, of events other than the clock");
	if (o->events.nr && (!strcmp(o->source, "perf") || !strcmp(o->source, "timer")))
		argp_error(state, "source %s samples no events beside the clock, only ebpf does",
			   o->source);
	if (o->events.alone && o->clock == CLOCK_WALL)
		argp_error(state, "--clock wall needs the clock: -e cpu-clock,%s",
			   o->events.list[0].name);
}

static void check_source(const char *name, struct argp_state *state)
{
	struct buffer names = { 0 };
	bool found = !strcmp(name, "auto");

	for (size_t i = 0; source_table[i]; i++) {
		found |= !strcmp(name, source_table[i]->name);
		buffer_printf(&names, ", %s", source_table[i]->name);
	}
	if (!found)
		argp_error(state, "there is no source '%s', only auto%s", name,
			   buffer_cstring(&names));
	buffer_fini(&names);
}

static void check_targets(const struct record_opts *o, struct argp_state *state)
{
	int modes = (o->nr_pids + o->nr_names > 0) + o->system_wide + (o->program != NULL) +
		    (o->nr_cgroups > 0) + o->by_user;

	if (modes == 0)
		argp_error(
			state,
			"name a process (-p PID or -p NAME), a program, or the whole system (-a)");
	if (modes > 1)
		argp_error(state, "-p, --cgroup, -u, -a and a program exclude each other");
	if (o->no_children && o->nr_cgroups)
		argp_error(state, "--cgroup samples whatever is in it: it takes no --no-children");
	if (o->no_children && o->system_wide)
		argp_error(state, "-a samples every process: it takes no --no-children");
	if (o->gpu.processes == GPU_PROCESSES_CHILDREN && !o->program)
		argp_error(state, "--gpu-processes children needs a program to start");
}

static void check_clock(const struct record_opts *o, struct argp_state *state)
{
	bool is_perf = !strcmp(o->source, "perf"), is_timer = !strcmp(o->source, "timer");

	if (o->clock != CLOCK_CPU && is_perf)
		argp_error(state, "source perf samples CPU time only, ebpf and timer also waits");
	if (o->clock == CLOCK_OFF && is_timer)
		argp_error(state, "source timer cannot sample waits alone, only ebpf can");
	if (o->latency && (is_perf || is_timer))
		argp_error(state, "source %s does not know what else runs, only ebpf does",
			   o->source);
	if (o->latency && (o->clock == CLOCK_OFF || o->events.alone))
		argp_error(state, "--latency divides CPU time, which is not sampled here");
	if (o->wait_period_ns && o->clock == CLOCK_CPU)
		argp_error(state, "--wait-period needs --clock wall or off");
	if (o->wait_period_ns && is_timer)
		argp_error(state, "source timer samples waits at its rate (-F), "
				  "only ebpf has a period for them");
	if (o->wakers && o->clock == CLOCK_CPU)
		argp_error(state, "--wakers needs --clock wall or off");
	if (o->wakers && is_timer)
		argp_error(state, "source timer does not see who wakes a thread, only ebpf does");
}

void sampling_opts_check(struct record_opts *o, struct argp_state *state)
{
	check_targets(o, state);
	check_source(o->source, state);
	check_events(o, state);
	check_clock(o, state);
	if (!o->freq_hz)
		o->freq_hz = o->program ? DEFAULT_LAUNCH_HZ : DEFAULT_ATTACH_HZ;
}

static void parse_gpu(int key, const char *text, struct record_opts *o, struct argp_state *state)
{
	if (key == OPT_GPU && !record_gpu_parse_mode(text, &o->gpu))
		argp_error(state, "'%s' is not one of auto, on, off", text);
	if (key == OPT_PROCESSES && !gpu_processes_parse(text, &o->gpu.processes))
		argp_error(state, "'%s' is not one of all, children, rank0", text);
	if (key == OPT_OVERHEAD && !record_gpu_parse_overhead(text, &o->gpu))
		argp_error(state, "'%s' is not a share from 0.1%% to 50%%", text);
	if (key == OPT_KINDS && !record_gpu_parse_kinds(text, &o->gpu))
		argp_error(state, "'%s' is no list of kernels, copies, fills, waits, ...", text);
	if (key == OPT_BACKTRACE && !record_gpu_parse_backtrace(text, &o->gpu))
		argp_error(state,
			   "'%s' is not all, kernel, memory or sync, some of them with commas, "
			   "with a threshold such as :80us or without",
			   text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_opts *o = state->input;

	switch (key) {
	case 'p': parse_pids(arg, o, state); return 0;
	case 'a': o->system_wide = true; return 0;
	case OPT_ALL_USERS: o->all_users = true; return 0;
	case 'F': o->freq_hz = frequency_argument(arg, state); return 0;
	case 'd': o->duration_ns = duration_argument(arg, state); return 0;
	case 's': o->source = arg; return 0;
	case 'e': parse_events(arg, o, state); return 0;
	case 'c': parse_count(arg, o, state); return 0;
	case OPT_DEBUGINFOD: o->debuginfod = true; return 0;
	case 'u': parse_user(arg, o, state); return 0;
	case OPT_CGROUP: add_cgroup(arg, o, state); return 0;
	case OPT_NO_CHILDREN: o->no_children = true; return 0;
	case OPT_NO_CACHE: o->no_cache = true; return 0;
	case OPT_NO_PYTHON: o->no_python = true; return 0;
	case OPT_GPU:
	case OPT_KINDS:
	case OPT_OVERHEAD:
	case OPT_PROCESSES:
	case OPT_BACKTRACE: parse_gpu(key, arg, o, state); return 0;
	case 'v': o->verbose = true; return 0;
	case OPT_CLOCK: o->clock = parse_clock(arg, state); return 0;
	case OPT_LATENCY: o->latency = true; return 0;
	case OPT_WAKERS: o->wakers = true; return 0;
	case OPT_WAIT_PERIOD: o->wait_period_ns = parse_wait_period(arg, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp sampling_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

void sampling_opts_take_program(struct record_opts *o, struct argp_state *state)
{
	o->program = &state->argv[state->next - 1];
	state->next = state->argc;
}
