/*
 * Parses the command line of sprof record and refuses combinations that cannot work. Options of the
 * GPU and of counted calls have parsers of their own (gpu_opts.h, counting.h).
 */
#include "cli/record/record_opts.h"

#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/call_specs.h"
#include "cli/options/event_specs.h"
#include "cli/record/rank_output.h"
#include "cli/gpu/gpu_opts.h"
#include "cli/options/all_users.h"
#include "cli/options/duration.h"
#include "cli/options/parse_args.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/source.h"
#include "core/untrusted/job_rank.h"

#define DEFAULT_ATTACH_HZ 99 /* prime to the usual timer rates, and cheap enough for production */
#define DEFAULT_LAUNCH_HZ 999
#define MAX_HZ 20000
#define MAX_PIDS 4096
#define DEFAULT_OUTPUT "sprof.data"

enum { /* keys of the options without a letter */
       OPT_DEBUGINFOD = 256,
       OPT_NO_PYTHON,
       OPT_GPU,
       OPT_CLOCK,
       OPT_LATENCY,
       OPT_WAKERS,
       OPT_SYSCALLS,
       OPT_DELAY,
       OPT_CAPTURE,
       OPT_STOP_ON_RANGE_END,
       OPT_BACKTRACE,
       OPT_KINDS,
       OPT_OVERHEAD,
       OPT_TIMELINE,
       OPT_CUDA_API,
       OPT_PROCESSES,
       OPT_CALLS,
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
	  "Sample the processes of this cgroup (version 2) and of those below it, also such that "
	  "come later; again for more: as in /proc/PID/cgroup, or below /sys/fs/cgroup",
	  0 },
	{ "user", 'u', "USER", 0,
	  "Sample the processes of this user, by name or number, also such that come later", 0 },
	{ "no-children", OPT_NO_CHILDREN, NULL, 0,
	  "Sample the named processes or the program alone, without what they start", 0 },
	{ "all", 'a', NULL, 0, "Sample the whole system", 0 },
	{ "all-users", OPT_ALL_USERS, NULL, 0, ALL_USERS_HELP, 0 },
	{ "freq", 'F', "HZ", 0,
	  "Samples per second and CPU (default: 99 when attaching, 999 for a program)", 0 },
	{ "duration", 'd', "TIME", 0,
	  "Stop after this long: 30, 30s, 500ms, 5m, 1h (a program runs on, and is waited for)",
	  0 },
	{ "delay", OPT_DELAY, "TIME", 0,
	  "Begin after this long; --duration counts from there (the GPU library sleeps until then; "
	  "CPU samples are taken and left out)",
	  0 },
	{ "capture-range", OPT_CAPTURE, "RANGE", 0,
	  "Keep only what happens in a part of the program: cudaProfilerApi (cuProfilerStart to "
	  "cuProfilerStop) or nvtx:NAME[@DOMAIN]: GPU work launched, ranges begun and CPU samples "
	  "taken then",
	  0 },
	{ "stop-on-range-end", OPT_STOP_ON_RANGE_END, NULL, 0,
	  "Stop when that part ends for the first time (a program runs on, and is waited for)", 0 },
	{ "cuda-backtrace", OPT_BACKTRACE, "CALLS", 0,
	  "CUDA calls that get a stack: all (default), kernel, memory, sync, some with commas; "
	  "with :80us only those that take that long",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Recording (default: sprof.data; an existing one becomes FILE.old); %r stands for the "
	  "rank in a distributed job, which is put before the extension where there is no %r",
	  0 },
	{ "source", 's', "SOURCE", 0,
	  "How samples are taken: auto (default; the best that works here), ebpf, perf, timer", 0 },
	{ "event", 'e', "EVENT[@PERIOD][,...]", 0,
	  "Events that take samples: the clock (auto, the default; cpu-clock, cycles), and events "
	  "with a column each: page-faults, context-switches, instructions, cache-misses, "
	  "CATEGORY:NAME of a tracepoint, r1a8, names of the host's PMUs; see sprof-record(1)",
	  0 },
	{ "count", 'c', "PERIOD", 0,
	  "Take a sample every so many of these events, 1 = of each (default: as often as --freq "
	  "says; of a tracepoint: 1)",
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
	{ "gpu", OPT_GPU, "MODE", 0,
	  "Collect GPU work and NVTX ranges: auto (default; of programs that have them), on, off",
	  0 },
	{ "gpu-processes", OPT_PROCESSES, "WHICH", 0,
	  "Collect GPU work of all processes (default), of the children of PROG only, or of those "
	  "of rank 0 in a distributed job: all, children, rank0",
	  0 },
	{ "gpu-kinds", OPT_KINDS, "LIST", 0,
	  "Collect only these kinds of GPU work, such as kernels,copies or -waits,-memory", 0 },
	{ "max-overhead", OPT_OVERHEAD, "PERCENT", 0,
	  "Let the GPU library take at most that share of the time of threads that launch", 0 },
	{ "gpu-timeline", OPT_TIMELINE, "MAX", 0,
	  "Keep the first MAX kernels, copies and waits of the GPU one by one, for sprof export -f "
	  "chrome (default: 100000); the rest is counted in the sums only: up to 1000000, or off",
	  0 },
	{ "cuda-api", OPT_CUDA_API, "WHICH", 0,
	  "Count calls of CUDA's driver API (driver, the default), of its runtime API too "
	  "(runtime), "
	  "or every call of both (all), not only those that launch, copy, allocate or wait",
	  0 },
	{ "clock", OPT_CLOCK, "NAME", 0,
	  "Time that is sampled: cpu (default), wall (also of threads that wait), or off (only of "
	  "those); by the sources ebpf, and timer, which knows no off",
	  0 },
	{ "latency", OPT_LATENCY, NULL, 0,
	  "Also divide each CPU sample by the number of threads of the target that run then (all, "
	  "with -a): the column latency shows what the elapsed time goes to, serial code most",
	  0 },
	{ "wakers", OPT_WAKERS, NULL, 0,
	  "With --clock wall or off: on top of the stack of a wait, show which thread ended it, "
	  "and "
	  "from where",
	  0 },
	{ "syscalls", OPT_SYSCALLS, "THRESHOLD", OPTION_ARG_OPTIONAL,
	  "Count and time all system calls (sprof report --syscalls); those that take THRESHOLD "
	  "(10ms) or longer are kept with their stacks, in the column long-calls",
	  0 },
	{ "calls", OPT_CALLS, "FUNCTION", 0,
	  "Count calls exactly: of native functions, [MODULE:]NAME where * stands for anything, or "
	  "of all Python functions: python; again for more. A call that is counted takes 1 us "
	  "longer",
	  0 },
	{ "quiet", 'q', NULL, 0, "Print no progress and no summary", 0 },
	{ "verbose", 'v', NULL, 0, "Print more messages", 0 },
	{ 0 }
};

static uint32_t parse_freq(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long hz;

	errno = 0;
	hz = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || !hz || hz > MAX_HZ)
		argp_error(state, "'%s' is not a frequency between 1 and %d", text, MAX_HZ);
	return (uint32_t)hz;
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
	long pid;

	errno = 0;
	pid = strtol(number, NULL, 10);
	if (errno || pid <= 0 || pid > INT32_MAX)
		argp_error(state, "'%s' is not a process number", number);
	o->pids = xgrow(o->pids, &o->pids_capacity, o->nr_pids + 1, sizeof(*o->pids));
	o->pids[o->nr_pids++] = (pid_t)pid;
}

/* "12,13" or "nginx": what is not a number is a name, which is looked up later. */
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
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (!user && (errno || end == text || *end || *text == '-' || number >= UINT32_MAX))
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

/* What is added up over a whole recording has no place in segments yet. */
static void check_continuous(struct record_opts *o, struct argp_state *state)
{
	if (strcmp(o->output, DEFAULT_OUTPUT))
		argp_error(state, "--continuous DIR names what is written: it takes no -o");
	if (o->gpu.mode == GPU_ON || o->gpu.capture || o->nr_calls || o->syscalls)
		argp_error(state, "--continuous takes no GPU work, --calls or --syscalls");
	if (!strcmp(o->source, "timer"))
		argp_error(state, "source timer does not record segments, ebpf and perf do");
	o->gpu.mode = GPU_OFF;
}

static void check(struct record_opts *o, struct argp_state *state)
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
	if (o->nr_calls && (o->nr_cgroups || o->by_user))
		argp_error(state, "--calls needs -p, -a or a program");
	alloc_opts_check(&o->alloc, o->nr_pids + o->nr_names, o->continuous.path, o->source, state);
	if (o->no_children && o->system_wide)
		argp_error(state, "-a samples every process: it takes no --no-children");
	check_source(o->source, state);
	check_events(o, state);
	if (!strcmp(o->output, "-"))
		argp_error(state, "a recording goes to a file, not to standard output");
	if (o->clock != CLOCK_CPU && !strcmp(o->source, "perf"))
		argp_error(state, "source perf samples CPU time only, ebpf and timer also waits");
	if (o->clock == CLOCK_OFF && !strcmp(o->source, "timer"))
		argp_error(state, "source timer cannot sample waits alone, only ebpf can");
	if (o->syscalls && (!strcmp(o->source, "perf") || !strcmp(o->source, "timer")))
		argp_error(state, "source %s does not count system calls, only ebpf does",
			   o->source);
	if (o->latency && (!strcmp(o->source, "perf") || !strcmp(o->source, "timer")))
		argp_error(state, "source %s does not know what else runs, only ebpf does",
			   o->source);
	if (o->latency && (o->clock == CLOCK_OFF || o->events.alone))
		argp_error(state, "--latency divides CPU time, which is not sampled here");
	if (o->wakers && o->clock == CLOCK_CPU)
		argp_error(state, "--wakers needs --clock wall or off");
	if (o->wakers && !strcmp(o->source, "timer"))
		argp_error(state, "source timer does not see who wakes a thread, only ebpf does");
	if (o->gpu.capture_once && !o->gpu.capture)
		argp_error(state, "--stop-on-range-end needs --capture-range");
	if (o->gpu.processes == GPU_PROCESSES_CHILDREN && !o->program)
		argp_error(state, "--gpu-processes children needs a program to start");
	if (o->gpu.capture && o->gpu.mode == GPU_OFF)
		argp_error(state, "--capture-range and --gpu off exclude each other");
	if (o->gpu.capture && o->nr_calls)
		argp_error(state, "--calls counts all that runs, not a --capture-range");
	if (o->gpu.capture) /* a capture range is known only where the GPU library runs */
		o->gpu.mode = GPU_ON;
	if (o->continuous.path)
		check_continuous(o, state);
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
	if (key == OPT_TIMELINE && !record_gpu_parse_timeline(text, &o->gpu))
		argp_error(state, "'%s' is neither off nor a number up to %d", text,
			   GPU_TIMELINE_MAX);
	if (key == OPT_CAPTURE && !record_gpu_parse_capture(text, &o->gpu))
		argp_error(state, "'%s' is neither cudaProfilerApi nor nvtx:NAME", text);
	if (key == OPT_CUDA_API && !record_gpu_parse_api(text, &o->gpu))
		argp_error(state, "'%s' is not driver, runtime or all", text);
	if (key == OPT_BACKTRACE && !record_gpu_parse_backtrace(text, &o->gpu))
		argp_error(state,
			   "'%s' is not all, kernel, memory or sync, some of them with commas, "
			   "with a threshold such as :80us or without",
			   text);
}

static void add_calls(const char *text, struct record_opts *o, struct argp_state *state)
{
	if (!call_spec_is_one(text))
		argp_error(state, "'%s' is neither python nor [MODULE:]FUNCTION", text);
	o->calls = xgrow(o->calls, &o->calls_capacity, o->nr_calls + 1, sizeof(*o->calls));
	o->calls[o->nr_calls++] = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->push;
		state->child_inputs[1] = &o->continuous;
		state->child_inputs[2] = &o->alloc;
		return 0;
	case 'p': parse_pids(arg, o, state); return 0;
	case 'a': o->system_wide = true; return 0;
	case OPT_ALL_USERS: o->all_users = true; return 0;
	case 'F': o->freq_hz = parse_freq(arg, state); return 0;
	case 'd': o->duration_ns = duration_argument(arg, state); return 0;
	case 'o': o->output = arg; return 0;
	case 's': o->source = arg; return 0;
	case 'e': parse_events(arg, o, state); return 0;
	case 'c': parse_count(arg, o, state); return 0;
	case OPT_DEBUGINFOD: o->debuginfod = true; return 0;
	case 'u': parse_user(arg, o, state); return 0;
	case OPT_CGROUP: add_cgroup(arg, o, state); return 0;
	case OPT_NO_CHILDREN: o->no_children = true; return 0;
	case OPT_NO_CACHE: o->no_cache = true; return 0;
	case OPT_NO_PYTHON: o->no_python = true; return 0;
	case OPT_DELAY: o->delay_ns = duration_argument(arg, state); return 0;
	case OPT_STOP_ON_RANGE_END: o->gpu.capture_once = true; return 0;
	case OPT_GPU:
	case OPT_CAPTURE:
	case OPT_KINDS:
	case OPT_OVERHEAD:
	case OPT_TIMELINE:
	case OPT_PROCESSES:
	case OPT_CUDA_API:
	case OPT_BACKTRACE: parse_gpu(key, arg, o, state); return 0;
	case OPT_CALLS: add_calls(arg, o, state); return 0;
	case 'q': o->quiet = true; return 0;
	case 'v': o->verbose = true; return 0;
	case OPT_CLOCK: o->clock = parse_clock(arg, state); return 0;
	case OPT_LATENCY: o->latency = true; return 0;
	case OPT_WAKERS: o->wakers = true; return 0;
	case OPT_SYSCALLS:
		o->syscalls = true;
		o->syscalls_ns = arg ? duration_argument(arg, state) : 0;
		return 0;
	case ARGP_KEY_ARG:
		/* The program, with all arguments that follow it. */
		o->program = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END: check(o, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp record_argp = {
	.options = options,
	.parser = parse,
	.args_doc = "-p PID|NAME\n--cgroup PATH\n-u USER\n-a\nPROG [ARG...]",
	.doc = "Samples what the CPU runs and writes a recording."
	       "\vExamples:\n"
	       "  sprof record -p 1234 -d 30s\n"
	       "  sprof record -p nginx -d 30s\n"
	       "  sprof record -- python3 train.py\n"
	       "  sprof record -a -F 199 -d 10s -o host.data\n"
	       "  sprof record -a --push http://localhost:4318 --label service=shop\n"
	       "  sprof record -a --continuous /var/lib/sprof --keep 7d\n",
	.children = (const struct argp_child[]){ { &push_record_argp, 0, "Pushing:", 1 },
						 { &continuous_argp, 0, "Flight recorder:", 2 },
						 { &record_alloc_argp, 0, "Memory:", 3 },
						 { 0 } },
};

/* With -p, -a and the like the recorder is no rank itself, whatever its shell was started by. */
static void add_rank(struct record_opts *o)
{
	struct job_rank rank;
	bool is_rank = o->program && job_rank_own(&rank);

	o->rank_output = rank_output(o->output, is_rank ? &rank : NULL);
	o->output = o->rank_output;
}

void record_opts_parse(int argc, char **argv, struct record_opts *o)
{
	*o = (struct record_opts){
		.output = DEFAULT_OUTPUT,
		.continuous = CONTINUOUS_DEFAULTS,
		.source = "auto",
		.event = "auto",
		.gpu.timeline = GPU_TIMELINE_DEFAULT,
		.gpu.kinds = GPU_KINDS_DEFAULT,
		.push = PUSH_RECORD_DEFAULT,
	};
	parse_args(&record_argp, argc, argv, o);
	add_rank(o);
}

void record_opts_fini(struct record_opts *o)
{
	for (size_t i = 0; i < o->nr_names; i++)
		free(o->names[i]);
	for (size_t i = 0; i < o->nr_cgroups; i++)
		free(o->cgroups[i]);
	free(o->cgroups);
	free(o->names);
	free(o->started);
	free(o->pids);
	free(o->calls);
	free(o->description);
	free(o->rank_output);
	push_opts_fini(&o->push.opts);
}
