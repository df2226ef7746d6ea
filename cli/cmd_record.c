/*
 * sprof record: takes samples until it is told to stop, then names what was sampled. It chooses a
 * source, starts or attaches to the target (cli/record/recorder.h), and moves samples from the
 * source's rings to the recording until a signal, the duration or the target's end.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/continuous/continuous.h"
#include "cli/push/push_child.h"
#include "cli/calls/counting.h"
#include "cli/record/gate.h"
#include "cli/gpu/record_gpu.h"
#include "cli/record/name_frames.h"
#include "cli/record/progress.h"
#include "cli/record/record_opts.h"
#include "cli/record/record_service.h"
#include "cli/record/recorder.h"
#include "cli/options/stop_signals.h"
#include "cli/recording_meta.h"
#include "cli/record/recording_summary.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/profile/facts.h"
#include "core/recording/recfile.h"
#include "core/profile/source.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/launch.h"
#include "sampler/alloc/allocations.h"
#include "symbolizer/lookup/debuginfod.h"

#define OWN_FAILURE 125 /* not 1, which could be the exit status of PROG */
#define DRAIN_MS 100
#define CALM_DRAIN_MS 300
#define FLUSH_NS (1000ull * 1000 * 1000)
#define PROGRESS_NS (500ull * 1000 * 1000)

struct recording {
	struct recorder recorder; /* the source, its targets and what it needs */
	const struct record_opts *opts;
	struct record_output output;
	struct record_service service; /* rate, triggers, cost, counters */
	struct utsname host;
	struct debuginfod *debuginfod; /* NULL = not asked for */
	struct push_child *push;       /* NULL = nothing is pushed */
	struct record_calls *calls;    /* NULL = none are counted */
	struct record_alloc *alloc;    /* NULL = not sampled */
	struct sink *sink;	       /* where samples go: the file, or what stands before it */
	struct record_gate *gate;      /* NULL: every sample is wanted */
	uint64_t begin_ns;	       /* samples before it are dropped */
	bool progress_shown;
	uint64_t start_ns;
};

/* Finds the functions whose calls are counted, before anything is recorded. */
static int open_calls(struct recording *r)
{
	const struct record_opts *o = r->opts;
	int err =
		record_calls_new(o->calls, o->nr_calls, o->system_wide, o->no_children,
				 o->program ? o->program[0] : NULL, r->recorder.sandbox, &r->calls);

	if (!err && r->recorder.program.launch.pid)
		err = record_calls_add_child(r->calls, r->recorder.program.launch.pid);
	for (size_t i = 0; i < o->nr_pids && !err; i++)
		err = record_calls_add_process(r->calls, o->pids[i]);
	for (size_t i = 0; i < o->nr_started && !err; i++)
		err = record_calls_add_process(r->calls, o->started[i]);
	if (!err)
		record_calls_await(r->calls);
	return err;
}

static int create_file(struct recording *r)
{
	struct continuous_config config = {
		.opts = &r->opts->continuous,
		.ops = r->recorder.ops,
		.source = r->recorder.source,
		.sandbox = r->recorder.sandbox,
		.debuginfod = r->debuginfod,
		.rate = &r->service.rate,
		.memory = &r->service.memory,
		.push = r->push,
	};
	struct recfile_meta meta;
	int err;

	record_service_open(&r->service, &r->recorder, &r->output);
	config.triggers = r->service.triggers;

	recording_meta(r->opts, r->recorder.ops->name, r->recorder.ops->event(r->recorder.source),
		       &r->host, &meta);
	config.meta = &meta;
	r->start_ns = meta.start_ns;
	if (r->opts->continuous.path)
		return continuous_new(&config, &r->output.continuous);
	err = recfile_create(r->opts->output, &meta, &r->output.file);
	if (err) {
		log_error(0, "write '%s': %s", r->opts->output, recfile_create_reason(err));
		log_hint("choose another file with -o FILE");
		return err;
	}
	push_child_begin(r->push, r->opts->output);
	return 0;
}

static void show_progress(struct recording *r, uint64_t now)
{
	struct profile_stats stats;

	r->recorder.ops->stats(r->recorder.source, &stats);
	progress_samples(now - r->start_ns, stats.nr_samples,
			 stats.nr_lost + record_output_nr_lost(&r->output),
			 record_output_bytes(&r->output));
	r->progress_shown = true;
}

static int flush(struct recording *r)
{
	struct profile_stats stats;

	r->recorder.ops->stats(r->recorder.source, &stats);
	recfile_set_stats(r->output.file, &stats);
	return recfile_flush(r->output.file);
}

/* A flight recorder need not hurry: nobody looks at a segment before it has ended. */
static int round_ms(const struct recording *r)
{
	bool hurries = r->opts->program || r->calls || r->alloc;

	return r->output.continuous && r->recorder.ops->waits_long && !hurries ? CALM_DRAIN_MS
									       : DRAIN_MS;
}

static int sample_rounds(struct recording *r)
{
	uint64_t flushed = r->start_ns, shown = r->start_ns, next = r->begin_ns, end = UINT64_MAX;
	bool terminal = !r->opts->quiet && progress_is_possible();

	if (r->opts->duration_ns)
		end = r->begin_ns + r->opts->duration_ns;
	while (!stop_signals_caught() && !started_program_has_ended(&r->recorder.program)) {
		uint64_t now = monotonic_ns();
		int timeout = round_ms(r), live;

		if (now >= end || record_gpu_has_captured(r->recorder.gpu))
			break;
		if (now >= next)
			next = end;
		if (r->output.continuous && continuous_next_ns(r->output.continuous) < next)
			next = continuous_next_ns(r->output.continuous);
		if (next - now < (uint64_t)timeout * 1000000)
			timeout = (int)((next - now) / 1000000) + 1;
		live = r->recorder.ops->drain(r->recorder.source, r->sink,
					      record_gpu_timeout_ms(r->recorder.gpu, timeout));
		record_gpu_drain(r->recorder.gpu);
		record_calls_follow(r->calls, r->sink);
		record_alloc_drain(r->alloc, r->sink);
		if (live < 0) {
			log_error(-live, "read samples");
			return live;
		}
		if (!live)
			break;
		record_service_round(&r->service, r->sink);
		if (r->output.continuous) {
			continuous_round(r->output.continuous, r->sink, monotonic_ns());
		} else if (now - flushed >= FLUSH_NS) {
			int err = flush(r);

			if (err)
				return err; /* reported at the end */
			flushed = now;
		}
		if (terminal && now - shown >= PROGRESS_NS) {
			show_progress(r, now);
			shown = now;
		}
	}
	return 0;
}

/* Returns 0 when the recording came to its end, -errno when it failed (reported). */
static int sample_until_end(struct recording *r)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err = sample_rounds(r);

	privileges_use(before);
	return err;
}

static void show_fetching(void *context, const char *name, uint64_t done, uint64_t total)
{
	const struct recording *r = context;

	if (!r->opts->quiet && progress_is_possible())
		progress_fetch(name, done, total);
}

static int finish(struct recording *r)
{
	struct name_frames names = { r->recorder.ops,	  r->recorder.source,
				     r->recorder.gpu,	  record_alloc_allocations(r->alloc),
				     r->recorder.sandbox, r->debuginfod };
	struct profile_stats stats;
	enum rights before;
	uint64_t end_ns;
	int err;

	started_program_forward_signal(&r->recorder.program);
	before = privileges_use(RIGHTS_BORROWED);
	r->recorder.ops->stop(r->recorder.source, r->sink);
	record_gpu_stop(r->recorder.gpu);
	record_alloc_stop(r->alloc, r->sink);
	recording_summary_tell_reads(r->sink);
	record_calls_stop(r->calls, r->sink);
	end_ns = monotonic_ns();
	r->recorder.ops->stats(r->recorder.source, &stats);
	privileges_use(before);
	if (r->output.continuous) {
		if (r->progress_shown)
			progress_clear();
		continuous_finish(r->output.continuous, &stats, end_ns);
		return 0;
	}
	record_service_tell_cost(&r->service, r->start_ns, end_ns, r->sink);
	recfile_set_stats(r->output.file, &stats);
	recfile_flush(r->output.file); /* the samples are safe before names are looked up */
	if (r->progress_shown)
		progress_clear();
	record_alloc_say_missed(r->alloc, recfile_vocabulary(r->output.file));
	record_name_frames(&names, recfile_vocabulary(r->output.file));
	recfile_write_symbols(r->output.file);
	err = recfile_finish(r->output.file, &stats, end_ns);
	if (err)
		log_error(-err, "write '%s'", r->opts->output);
	recording_summary_print(&(struct recording_summary){
		.stats = &stats,
		.file = r->output.file,
		.path = r->opts->output,
		.duration_ns = end_ns - r->start_ns,
		.pids = r->opts->pids,
		.nr_pids = r->opts->nr_pids,
	});
	record_gpu_check(r->recorder.gpu);
	return err;
}

/* Without a sample, the file is not kept: it would look like a recording of an idle program. */
static void discard_file(struct recording *r)
{
	if (!r->output.file)
		return;
	recfile_free(r->output.file);
	r->output.file = NULL;
	unlink(r->opts->output);
}

/* True if sprof starts a program and hooks it: recording then begins at its entry point. */
static bool starts_hooked(const struct recording *r)
{
	return r->alloc && r->opts->program;
}

/* Samples pass the gate first, then the part that charges them with the time of idle GPUs. */
static void set_gate(struct recording *r)
{
	r->begin_ns = r->start_ns + r->opts->delay_ns;
	record_gpu_wait_until(r->recorder.gpu, r->begin_ns);
	if (starts_hooked(r))
		r->begin_ns = UINT64_MAX / 2; /* until go() has hooked the program */
	r->sink = record_gpu_watch(r->recorder.gpu, r->output.continuous
							    ? continuous_sink(r->output.continuous)
							    : recfile_sink(r->output.file));
	if (r->opts->delay_ns || r->opts->gpu.capture || starts_hooked(r)) {
		r->gate = record_gate_new(r->sink, r->begin_ns, r->recorder.gpu);
		r->sink = record_gate_sink(r->gate);
	}
}

/* Empties the rings while the program is being hooked; the gate drops these samples. */
static void drain_source(void *context)
{
	struct recording *r = context;

	r->recorder.ops->drain(r->recorder.source, r->sink, 0);
}

static int open_alloc(struct recording *r)
{
	const struct record_opts *o = r->opts;
	const struct record_alloc_config config = {
		.opts = &o->alloc,
		.pids = o->pids,
		.nr_pids = o->nr_pids,
		.no_children = o->no_children,
		.no_python = o->no_python,
		.serve = drain_source,
		.context = r,
		.sandbox = r->recorder.sandbox,
		.cache = r->recorder.cache,
	};

	return record_alloc_open(&config, &r->alloc);
}

static int open_parts(struct recording *r)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err = recorder_open(&r->recorder);

	err = err ? err : open_calls(r);
	if (!err) /* puts hooks into the targets, so it comes after all that may fail */
		err = open_alloc(r);
	privileges_use(before);
	if (!err)
		recorder_await_tables(&r->recorder);
	return err;
}

static int start(struct recording *r)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err;

	set_gate(r);
	err = recorder_start(&r->recorder,
			     record_calls_privileges(r->calls) | record_alloc_privileges(r->alloc));
	if (!err) {
		record_alloc_start(r->alloc);
		record_calls_start(r->calls, r->begin_ns,
				   r->opts->duration_ns ? r->begin_ns + r->opts->duration_ns
							: UINT64_MAX);
	}
	privileges_use(before);
	return err;
}

/* Lets the program run. 0, or -errno with sprof's exit status in *ret_status. */
static int go(struct recording *r, int *ret_status)
{
	struct started_program *p = &r->recorder.program;
	bool hooked = starts_hooked(r);
	enum rights before;
	int err;

	*ret_status = OWN_FAILURE;
	before = privileges_use(RIGHTS_BORROWED);
	err = hooked ? record_alloc_follow_program(r->alloc, p->launch.pid) : 0;
	privileges_use(before);
	if (err) {
		launch_cancel(&p->launch);
		return err;
	}
	err = recorder_go(&r->recorder);
	if (err) {
		*ret_status = started_program_cannot_run(r->opts->program[0], err);
		return err;
	}
	if (!hooked)
		return 0;
	before = privileges_use(RIGHTS_BORROWED);
	err = record_alloc_hook_program(r->alloc, &p->ended, &p->status);
	privileges_use(before);
	if (err) {
		started_program_wait(p);
		return err;
	}
	r->begin_ns = monotonic_ns() + r->opts->delay_ns;
	record_gate_begin(r->gate, r->begin_ns);
	return 0;
}

static int run(struct recording *r)
{
	const char *program = r->opts->program ? r->opts->program[0] : NULL;
	int failure = program ? OWN_FAILURE : 1, err, push_err;

	err = recorder_launch(&r->recorder);
	if (err)
		return failure;
	err = open_parts(r);
	err = err ? err : create_file(r);
	err = err ? err : start(r);
	if (err) {
		discard_file(r);
		if (program)
			launch_cancel(&r->recorder.program.launch);
		return failure;
	}
	if (go(r, &failure)) {
		discard_file(r);
		return failure;
	}
	failure = program ? OWN_FAILURE : 1;
	record_service_begin(&r->service);
	err = sample_until_end(r);
	record_service_end(&r->service);
	if (finish(r) && !err)
		err = -EIO;
	recorder_close_source(&r->recorder);
	push_err = push_child_end(r->push);
	if (program) {
		int status = started_program_wait(&r->recorder.program);

		return err ? OWN_FAILURE : status;
	}
	return err || push_err ? 1 : 0;
}

/* All that is done before the source is opened. 0 or -errno, reported. */
static int prepare(struct recording *r, struct record_opts *opts)
{
	int err = opts->push.url ? push_child_new(&opts->push, &r->push) : 0;

	err = err ? err : recorder_prepare(&r->recorder, opts);
	err = err ? err : record_service_prepare(&r->service, opts);
	if (!err && opts->debuginfod)
		err = debuginfod_open(show_fetching, r, &r->debuginfod);
	if (!err && opts->continuous.path && !r->recorder.ops->turn) {
		log_error(0, "record segments: source %s cannot", r->recorder.ops->name);
		log_hint("sprof doctor says what the sources ebpf and perf lack here");
		return -ENOTSUP;
	}
	return err;
}

static int record_main(int argc, char **argv)
{
	struct record_opts opts;
	struct recording r = { .opts = &opts };
	int status;

	if (recorder_begin())
		return 1;
	record_opts_parse(argc, argv, &opts);
	if (opts.quiet)
		log_set_level(LOG_QUIET);
	else if (opts.verbose)
		log_set_level(LOG_VERBOSE);
	/* Checked before an older recording is renamed. */
	status = opts.program ? started_program_find(opts.program[0]) : 0;
	if (status) {
		record_opts_fini(&opts);
		return status;
	}
	if (prepare(&r, &opts))
		status = opts.program ? OWN_FAILURE : 1;
	else
		status = run(&r);
	recorder_close_source(&r.recorder);
	record_calls_free(r.calls);
	record_alloc_free(r.alloc);
	record_gate_free(r.gate);
	continuous_free(r.output.continuous);
	record_service_fini(&r.service);
	recfile_free(r.output.file);
	debuginfod_close(r.debuginfod);
	recorder_fini(&r.recorder);
	push_child_free(r.push);
	record_opts_fini(&opts);
	remote_read_end();
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.argp = &record_argp,
	.runs_program = true,
	.help = "sample a running process, a program, or the whole system",
	.samples = true,
	.main = record_main,
};
