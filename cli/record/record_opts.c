/*
 * Parses the command line of sprof record and refuses combinations that cannot work. What it shares
 * with other commands is parsed by sampling_opts.c; options of the GPU and of counted calls have
 * parsers of their own (gpu_opts.h, counting.h).
 */
#include "cli/record/record_opts.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/calls/call_specs.h"
#include "cli/options/byte_size.h"
#include "cli/options/duration.h"
#include "cli/record/rank_output.h"
#include "cli/record/sampling_opts.h"
#include "cli/gpu/gpu_opts.h"
#include "cli/options/parse_args.h"
#include "core/base/alloc.h"
#include "core/profile/gpu_kinds.h"
#include "core/untrusted/job_rank.h"

#define DEFAULT_OUTPUT "sprof.data"

enum { /* keys of the options without a letter */
       OPT_SYSCALLS = 256,
       OPT_DELAY,
       OPT_CAPTURE,
       OPT_STOP_ON_RANGE_END,
       OPT_TIMELINE,
       OPT_CUDA_API,
       OPT_METRICS,
       OPT_MAX_MEMORY,
       OPT_PC_SAMPLING,
       OPT_CALLS
};

static const struct argp_option options[] = {
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
	  "With --capture-range: stop when the first such part ends (a program runs on, and is "
	  "waited for)",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Recording (default: sprof.data; an existing one becomes FILE.old); %r stands for the "
	  "rank in a distributed job, which is put before the extension where there is no %r",
	  0 },
	{ "gpu-timeline", OPT_TIMELINE, "MAX", 0,
	  "Keep the first MAX kernels, copies and waits of the GPU one by one, for sprof export -f "
	  "chrome (default: 100000); the rest is counted in the sums only: up to 1000000, or off",
	  0 },
	{ "cuda-api", OPT_CUDA_API, "driver|runtime|all", 0,
	  "Count calls of CUDA's driver API (default), of its runtime API too, or every call of "
	  "both, not only those that launch, copy, allocate or wait",
	  0 },
	{ "pc-sampling", OPT_PC_SAMPLING, "HOW", OPTION_ARG_OPTIONAL,
	  "Sample where kernels of the GPU spend their time and why warps wait, by line (sprof "
	  "report --stalls), every 2^HOW cycles, 5 to 31; stacks or stacks,20: under the launches, "
	  "which makes kernels run one at a time. It costs GPU time, and the driver may need "
	  "rights for it",
	  0 },
	{ "syscalls", OPT_SYSCALLS, "THRESHOLD", OPTION_ARG_OPTIONAL,
	  "Count and time all system calls (sprof report --syscalls); those that take THRESHOLD "
	  "(10ms) or longer are kept with their stacks, in the column long-calls",
	  0 },
	{ "calls", OPT_CALLS, "FUNCTION", 0,
	  "Count calls exactly: of native functions, [MODULE:]NAME where * stands for anything, or "
	  "of all Python functions: python. gc, imports and collectives time Python's garbage "
	  "collections and imports, and gloo's operations. May be given more than once; a counted "
	  "call takes 1 us longer",
	  0 },
	{ "max-memory", OPT_MAX_MEMORY, "SIZE", 0,
	  "Take at most that much memory, 32M or more, whatever is mapped: stacks through files "
	  "whose unwind rows do not fit are copied, and unwound by the recorder",
	  0 },
	{ "metrics", OPT_METRICS, "[ADDR:]PORT", 0,
	  "Serve the recorder's own counters to Prometheus, at http://ADDR:PORT/metrics (ADDR: "
	  "127.0.0.1 by default)",
	  0 },
	{ "quiet", 'q', NULL, 0, "Print no progress and no summary", 0 },
	{ 0 }
};

/* Refuses what is added up over a whole recording, for which segments have no place. */
static void check_continuous(struct record_opts *o, struct argp_state *state)
{
	if (strcmp(o->output, DEFAULT_OUTPUT))
		argp_error(state, "--continuous DIR names what is written: it takes no -o");
	if (o->gpu.mode == GPU_ON || o->gpu.capture || o->nr_calls)
		argp_error(state, "--continuous takes no GPU work and no --calls");
	if (o->push.every_ns)
		argp_error(state, "--continuous pushes each segment: --segment says how often");
	if (!strcmp(o->source, "timer"))
		argp_error(state, "source timer does not record segments, ebpf and perf do");
	o->gpu.mode = GPU_OFF;
	o->push.finished = true;
}

/* The GPU library cannot pause these samples, so options that would pause it are refused. */
static void check_pc_sampling(struct record_opts *o, struct argp_state *state)
{
	if (!o->gpu.pc_want)
		return;
	if (o->gpu.mode == GPU_OFF)
		argp_error(state, "--pc-sampling and --gpu off exclude each other");
	if (o->gpu.max_overhead_ppm || o->gpu.capture)
		argp_error(state, "--pc-sampling samples all kernels of a recording: it goes with "
				  "neither --max-overhead nor --capture-range");
	o->gpu.mode = GPU_ON;
}

static void check(struct record_opts *o, struct argp_state *state)
{
	sampling_opts_check(o, state);
	if (o->nr_calls && (o->nr_cgroups || o->by_user))
		argp_error(state, "--calls needs -p, -a or a program");
	alloc_opts_check(&o->alloc, o->nr_pids + o->nr_names, o->program, o->no_python,
			 o->continuous.path, o->source, state);
	o->events.growth = o->alloc.growth;
	if (!strcmp(o->output, "-"))
		argp_error(state, "a recording goes to a file, not to standard output");
	if (o->syscalls && (!strcmp(o->source, "perf") || !strcmp(o->source, "timer")))
		argp_error(state, "source %s does not count system calls, only ebpf does",
			   o->source);
	if (o->gpu.capture_once && !o->gpu.capture)
		argp_error(state, "--stop-on-range-end needs --capture-range");
	if (o->gpu.capture && o->gpu.mode == GPU_OFF)
		argp_error(state, "--capture-range and --gpu off exclude each other");
	if (o->gpu.capture && o->nr_calls)
		argp_error(state, "--calls counts all that runs, not a --capture-range");
	if (o->gpu.capture) /* only the GPU library knows capture ranges */
		o->gpu.mode = GPU_ON;
	check_pc_sampling(o, state);
	if (o->continuous.path)
		check_continuous(o, state);
}

static void parse_gpu(int key, const char *text, struct record_opts *o, struct argp_state *state)
{
	if (key == OPT_TIMELINE && !record_gpu_parse_timeline(text, &o->gpu))
		argp_error(state, "'%s' is neither off nor a number up to %d", text,
			   GPU_TIMELINE_MAX);
	if (key == OPT_CAPTURE && !record_gpu_parse_capture(text, &o->gpu))
		argp_error(state, "'%s' is neither cudaProfilerApi nor nvtx:NAME", text);
	if (key == OPT_PC_SAMPLING && !record_gpu_parse_pc_sampling(text, &o->gpu))
		argp_error(state, "'%s' is neither a number from 5 to 31 nor stacks", text);
	if (key == OPT_CUDA_API && !record_gpu_parse_api(text, &o->gpu))
		argp_error(state, "'%s' is not driver, runtime or all", text);
}

static void add_calls(const char *text, struct record_opts *o, struct argp_state *state)
{
	if (!call_spec_is_one(text))
		argp_error(state, "'%s' is neither python nor [MODULE:]FUNCTION", text);
	o->calls = xgrow(o->calls, &o->calls_capacity, o->nr_calls + 1, sizeof(*o->calls));
	o->calls[o->nr_calls++] = text;
}

static void parse_memory(const char *text, struct record_opts *o, struct argp_state *state)
{
	uint64_t bytes = byte_size_argument(text, state);

	if (bytes < MEMORY_SHARES_MIN)
		argp_error(state, "--max-memory %s is not enough: 32M is the least", text);
	memory_shares_of(bytes, &o->memory);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = &o->push;
		state->child_inputs[2] = &o->continuous;
		state->child_inputs[3] = &o->alloc;
		return 0;
	case 'o': o->output = arg; return 0;
	case OPT_DELAY: o->delay_ns = duration_argument(arg, state); return 0;
	case OPT_STOP_ON_RANGE_END: o->gpu.capture_once = true; return 0;
	case OPT_CAPTURE:
	case OPT_TIMELINE:
	case OPT_PC_SAMPLING:
	case OPT_CUDA_API: parse_gpu(key, arg, o, state); return 0;
	case OPT_CALLS: add_calls(arg, o, state); return 0;
	case OPT_METRICS: o->metrics = arg; return 0;
	case OPT_MAX_MEMORY: parse_memory(arg, o, state); return 0;
	case 'q': o->quiet = true; return 0;
	case OPT_SYSCALLS:
		o->syscalls = true;
		o->syscalls_ns = arg ? duration_argument(arg, state) : 0;
		return 0;
	case ARGP_KEY_ARG: sampling_opts_take_program(o, state); return 0;
	case ARGP_KEY_END: check(o, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp record_argp = {
	.options = options,
	.parser = parse,
	.children = (const struct argp_child[]){ { &sampling_argp, 0, NULL, 0 },
						 { &push_record_argp, 0, "Pushing:", 1 },
						 { &continuous_argp, 0, "Flight recorder:", 2 },
						 { &record_alloc_argp, 0, "Memory:", 3 },
						 { 0 } },
	.args_doc = "-p PID|NAME\n--cgroup PATH\n-u USER\n-a\nPROG [ARG...]",
	.doc = "Samples what the CPU runs and writes a recording."
	       "\vExamples:\n"
	       "  sprof record -p 1234 -d 30s\n"
	       "  sprof record -p nginx -d 30s\n"
	       "  sprof record -- python3 train.py\n"
	       "  sprof record -a -F 199 -d 10s -o host.data\n"
	       "  sprof record -a --push http://localhost:4318 --label service=shop\n"
	       "  sprof record -a --continuous /var/lib/sprof --keep 7d\n",
};

/* Only a recorder that starts a program is a rank; with -p or -a it is not in the job. */
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
	trigger_specs_fini(&o->continuous.triggers.specs);
}
