/* Connects the parts of cli/service and cli/triggers with a recording. */
#include "cli/record/record_service.h"

#include "cli/continuous/continuous.h"
#include "cli/record/record_opts.h"
#include "cli/record/recorder.h"
#include "cli/service/metrics_text.h"
#include "cli/service/service.h"
#include "cli/triggers/triggers.h"
#include "core/base/clock.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "output/push/spool.h"

uint64_t record_output_nr_lost(const struct record_output *o)
{
	return o->continuous ? continuous_nr_lost(o->continuous) : recfile_nr_lost(o->file);
}

uint64_t record_output_bytes(const struct record_output *o)
{
	return o->continuous ? continuous_size_bytes(o->continuous) : recfile_size_bytes(o->file);
}

int record_service_prepare(struct record_service *s, const struct record_opts *opts)
{
	const struct push_opts *push = &opts->push.opts;
	const struct spool_limits limits = { .bytes = push->spool_bytes };
	int err = service_new(opts->metrics, &s->service);

	s->opts = opts;
	if (!err && opts->metrics && opts->push.url && push->spool)
		err = spool_open(push->spool, &limits, &s->spool);
	return err;
}

static void open_triggers(struct record_service *s)
{
	const struct record_opts *o = s->opts;
	const pid_t *launched = &s->recorder->program.launch.pid;
	const struct triggers_config config = {
		.specs = &o->continuous.triggers.specs,
		.pids = *launched ? launched : o->pids,
		.nr_pids = *launched ? 1 : o->nr_pids,
		.cgroups = (const char *const *)o->cgroups,
		.nr_cgroups = o->nr_cgroups,
		.system_wide = o->system_wide,
	};

	s->triggers = triggers_new(&config);
}

void record_service_open(struct record_service *s, const struct recorder *recorder,
			 const struct record_output *output)
{
	s->recorder = recorder;
	s->output = output;
	s->rate = (struct rate_control){
		.parts = { recorder->ops, recorder->source, recorder->program.launch.pid,
			   &recorder->program.cpu_ns },
		.source = recorder->source,
		.hz = s->opts->freq_hz,
		.wanted_hz = s->opts->freq_hz,
		.limit_ppm = s->opts->gpu.max_overhead_ppm,
	};
	s->memory = (struct memory_watch){
		.shares = s->opts->memory.limit ? &s->opts->memory : NULL,
		.ops = recorder->ops,
		.source = recorder->source,
	};
	open_triggers(s);
}

void record_service_begin(struct record_service *s)
{
	own_cost_read(&s->rate.parts, &s->cost);
	rate_control_begin(&s->rate, monotonic_ns());
	memory_watch_begin(&s->memory);
	service_ready(s->service);
}

/* Collects what the service manager and readers of the metrics are told. */
static void count(void *context, struct recorder_counters *c)
{
	struct record_service *s = context;
	const struct record_output *o = s->output;
	struct spool_stats spool;

	s->recorder->ops->stats(s->recorder->source, &c->stats);
	c->source = s->recorder->ops->name;
	c->freq_hz = s->rate.hz;
	c->cost = s->rate.cost;
	own_cost_read(&s->rate.parts, &c->cost);
	c->is_continuous = o->continuous;
	c->nr_triggers = triggers_nr_fired(s->triggers);
	c->nr_segments = o->continuous ? continuous_nr_segments(o->continuous) : 0;
	c->nr_lost = c->stats.nr_lost + record_output_nr_lost(o);
	c->written_bytes = record_output_bytes(o);
	c->has_spool = s->spool;
	if (s->spool) {
		spool_stats(s->spool, &spool);
		c->spool_bytes = spool.bytes;
		c->nr_spooled = spool.nr_requests;
	}
}

void record_service_round(struct record_service *s, struct sink *sink)
{
	uint64_t now = monotonic_ns();

	rate_control_round(&s->rate, sink, now);
	memory_watch_round(&s->memory, sink, now);
	service_round(s->service, now, count, s);
}

void record_service_end(struct record_service *s)
{
	service_stopping(s->service);
}

void record_service_tell_cost(struct record_service *s, uint64_t start_ns, uint64_t end_ns,
			      struct sink *sink)
{
	struct own_cost cost = s->cost;

	own_cost_read(&s->rate.parts, &cost);
	own_cost_tell(&s->cost, &cost, start_ns, end_ns, sink);
}

void record_service_fini(struct record_service *s)
{
	triggers_free(s->triggers);
	service_free(s->service);
	spool_close(s->spool);
}
