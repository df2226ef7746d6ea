/*
 * Sampling needs borrowed rights, which are on only while a function of the source or of the GPU
 * data runs.
 */
#include "cli/record/recorder.h"

#include <errno.h>
#include <stddef.h>

#include "cli/gpu/record_gpu.h"
#include "cli/options/all_users.h"
#include "cli/record/await_tables.h"
#include "cli/record/choose_source.h"
#include "cli/record/chosen_processes.h"
#include "cli/record/record_opts.h"
#include "cli/options/stop_signals.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/sandbox/sandbox.h"
#include "core/untrusted/remote_read.h"
#include "sampler/timer/source_timer.h"
#include "sampler/unwind/table_cache.h"

int recorder_begin(void)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err = remote_read_start();

	privileges_use(before);
	if (err)
		log_error(-err, "start a process that reads others");
	return err;
}

/* A table gets half of the memory: for a moment there are two copies, as read and as used. */
static void limit_memory(struct recorder *r)
{
	const struct memory_shares *memory = &r->opts->memory;

	if (!memory->limit)
		return;
	sandbox_set_memory(r->sandbox, memory->parser);
	table_cache_set_table_max(r->cache, memory->parser / 2);
}

int recorder_prepare(struct recorder *r, struct record_opts *opts)
{
	int err = sandbox_new(&r->sandbox);

	r->opts = opts;
	if (err)
		log_error(-err, "start the process that parses files");
	err = err ? err : record_targets_find(opts);
	if (err)
		return err;
	record_targets_describe(opts);
	r->cache = record_open_table_cache(opts);
	limit_memory(r);
	stop_signals_catch();
	r->ops = record_source_choose(opts, &r->runtime);
	return r->ops ? 0 : -ENOTSUP;
}

int recorder_launch(struct recorder *r)
{
	char **program = r->opts->program;
	int err = program ? launch_prepare(&r->program.launch, program) : 0;

	if (err)
		log_error(-err, "start '%s'", program[0]);
	return err;
}

static int open_source(struct recorder *r)
{
	const struct record_opts *o = r->opts;
	struct source_config config = record_source_config(o);

	config.callers_only = all_users_confined(o->all_users);
	config.cgroups = (const char *const *)o->cgroups;
	config.nr_cgroups = o->nr_cgroups;
	config.by_user = o->by_user;
	config.user = o->user;
	config.launched = r->program.launch.pid;
	config.freq_hz = o->freq_hz;
	config.max_freq_hz = o->continuous.triggers.specs.nr ? o->continuous.triggers.freq_hz : 0;
	config.runtime = r->runtime;
	config.memory = o->memory.limit ? &o->memory : NULL;
	config.counts_cost = o->continuous.path || o->gpu.max_overhead_ppm || o->metrics;
	config.sandbox = r->sandbox;
	config.cache = r->cache;
	return r->ops->open(&config, &r->source);
}

int recorder_open(struct recorder *r)
{
	const struct record_opts *o = r->opts;
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err = record_gpu_new(&o->gpu, !o->no_python, r->sandbox, r->cache, &r->gpu);

	err = err ? err : record_gpu_connect(r->gpu, o->pids, o->nr_pids);
	if (!err)
		record_gpu_connect_started(r->gpu, o->started, o->nr_started);
	err = err ? err : open_source(r);
	privileges_use(before);
	return err;
}

void recorder_await_tables(struct recorder *r)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);

	if (!r->opts->program) /* a program maps its files after it has started */
		record_await_tables(r->ops, r->source);
	privileges_use(before);
}

int recorder_start(struct recorder *r, uint64_t privileges)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err = r->ops->start(r->source);

	if (!err) { /* from here on fewer rights are needed */
		privileges_reduce(r->ops->privileges | privileges);
		record_gpu_join(r->gpu);
	}
	privileges_use(before);
	return err;
}

/* If this fails, the program has ended, which launch_go() reports. */
static void set_environment(struct recorder *r)
{
	const char *const *assignment =
		r->ops == &source_timer ? source_timer_environment(r->source) : NULL;

	for (; assignment && *assignment; assignment++)
		launch_set_environment(&r->program.launch, *assignment);
	record_gpu_set_environment(r->gpu, &r->program.launch);
}

int recorder_go(struct recorder *r)
{
	if (!r->opts->program)
		return 0;
	set_environment(r);
	return launch_go(&r->program.launch);
}

void recorder_close_source(struct recorder *r)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);

	if (r->ops)
		r->ops->close(r->source);
	r->source = NULL;
	privileges_use(before);
}

void recorder_fini(struct recorder *r)
{
	recorder_close_source(r);
	record_gpu_free(r->gpu);
	table_cache_close(r->cache);
	sandbox_free(r->sandbox);
}
