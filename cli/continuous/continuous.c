/*
 * The counters of a segment are what the source counted since the last turn. Samples that came
 * while no segment could be written count as lost in the next one.
 */
#include "cli/continuous/continuous.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/continuous/flight_folder.h"
#include "cli/continuous/incident.h"
#include "cli/continuous/name_segment.h"
#include "cli/continuous/segment_signals.h"
#include "cli/push/push_child.h"
#include "cli/service/memory_watch.h"
#include "cli/service/rate_control.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/memory_shares.h"
#include "core/base/proc_status.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "core/rights/privileges.h"
#include "core/segments/folder.h"
#include "core/segments/marks.h"
#include "core/segments/segment_sink.h"

#define FLUSH_NS NS_PER_S
#define RETRY_NS NS_PER_S
#define LAST_NAMES_NS (30 * NS_PER_S)
#define KEEP_NS (300 * (int64_t)NS_PER_S) /* what a signal keeps */

struct continuous {
	struct continuous_config config;
	struct recfile_meta meta;
	char boot[40];
	struct folder *folder;
	struct segment_sink *sink;
	struct sink *front; /* that the source is given */
	struct naming naming;
	struct incident incident;
	bool kept_lacks_names; /* children still look up names for kept segments */
	struct own_cost cost;  /* what segments have recorded, up to cost_ns */
	uint64_t cost_ns;
	struct recfile *file; /* NULL: none could be written */
	char name[SEGMENT_NAME_SIZE];
	int failure;	  /* why the last write failed, -errno */
	int said;	  /* the error that was reported last */
	uint64_t next_ns; /* when to turn, or to try again */
	uint64_t flushed_ns;
	bool forget;		     /* this turn is early, to keep --max-memory */
	struct profile_stats before; /* of the source, as of the last turn */
	uint64_t nr_unwritten;	     /* lost samples that no segment has counted */
	uint64_t nr_all_unwritten, written_bytes, nr_segments;
};

static void add_lost(struct continuous *c, uint64_t nr)
{
	c->nr_unwritten += nr;
	c->nr_all_unwritten += nr;
}

/* Tells what was counted since the last turn. */
static void stats_of_segment(const struct continuous *c, const struct profile_stats *all,
			     struct profile_stats *ret)
{
	*ret = *all;
	ret->nr_samples -= c->before.nr_samples;
	ret->nr_lost += c->nr_unwritten - c->before.nr_lost;
	ret->nr_snapshots -= c->before.nr_snapshots;
	ret->nr_throttled -= c->before.nr_throttled;
	ret->nr_limits -= c->before.nr_limits;
	for (int i = 0; i < NR_MARKERS; i++)
		ret->nr_incomplete[i] -= c->before.nr_incomplete[i];
}

static void read_stats(const struct continuous *c, struct profile_stats *all)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);

	c->config.ops->stats(c->config.source, all);
	privileges_use(before);
}

static void say_failure(struct continuous *c, int err)
{
	if (err == c->said)
		return;
	c->said = err;
	log_error(-err, "write '%s/%s'", c->config.opts->path, c->name);
	log_info("samples are dropped and counted until that succeeds");
}

/* A file that has got no header is not left behind: it cannot be read. */
static int create_segment(struct continuous *c)
{
	int fd, err;

	c->meta.start_realtime_ns = realtime_ns();
	c->meta.start_ns = monotonic_ns();
	c->meta.freq_hz = c->config.rate->hz;
	fd = folder_create_segment(c->folder, c->meta.start_realtime_ns, c->name);
	err = fd < 0 ? fd : recfile_create_in(fd, &c->meta, &c->file);
	if (err && fd >= 0)
		unlinkat(folder_fd(c->folder), c->name, 0);
	return err;
}

/* Begins a segment. If that fails, there is none, and samples are dropped. */
static int begin_segment(struct continuous *c, uint64_t now_ns)
{
	int err = create_segment(c);

	if (err) {
		c->failure = err;
		segment_sink_turn(c->sink, NULL);
		c->next_ns = now_ns + RETRY_NS;
		return err;
	}
	segment_sink_turn(c->sink, recfile_sink(c->file));
	c->next_ns = now_ns + c->config.opts->segment_ns;
	c->flushed_ns = now_ns;
	return 0;
}

static void leave_segment(struct continuous *c)
{
	c->written_bytes += recfile_size_bytes(c->file);
	c->nr_segments++;
	folder_end_segment(c->folder, c->name, recfile_size_bytes(c->file), boottime_ns());
	recfile_free(c->file);
	c->file = NULL;
}

/* Records what was spent since the last segment. */
static void tell_cost(struct continuous *c, uint64_t end_ns)
{
	const struct own_cost before = c->cost;

	own_cost_read(&c->config.rate->parts, &c->cost);
	own_cost_tell(&before, &c->cost, c->cost_ns, end_ns, segment_sink_front(c->sink));
	c->cost_ns = end_ns;
}

static void push_segment(void *context, const char *path)
{
	const struct continuous *c = context;

	/* On a file system without links the segment may be in KEPT_FOLDER alone. */
	if (c->config.push && c->kept_lacks_names)
		folder_keep_names(c->folder);
	push_child_begin(c->config.push, path);
}

static void on_named(void *context, const char *path)
{
	folder_measure_segment(((struct continuous *)context)->folder, strrchr(path, '/') + 1);
	push_segment(context, path);
}

/* Has a child name and finish the segment; `here`: this process does, at the end. */
static void end_segment(struct continuous *c, const struct profile_stats *all, uint64_t end_ns,
			bool here)
{
	const struct naming_parts parts = {
		.ops = c->config.ops,
		.source = c->config.source,
		.sandbox = c->config.sandbox,
		.debuginfod = c->config.debuginfod,
		.sink = c->sink,
		.folder = c->folder,
		.name = c->name,
	};
	char *path = xasprintf("%s/%s", c->config.opts->path, c->name);
	struct profile_stats stats;

	tell_cost(c, end_ns);
	stats_of_segment(c, all, &stats);
	if (here || !naming_start(&c->naming, &parts, c->file, path, &stats, end_ns)) {
		if (here)
			name_segment(&parts, c->file, &stats, end_ns);
		else
			recfile_finish(c->file, &stats, end_ns); /* named when it is read */
		push_segment(c, path);
	}
	free(path);
	c->nr_unwritten = 0;
	leave_segment(c);
}

/* Ends a segment that could not be written, and counts what it has lost. */
static void abandon_segment(struct continuous *c, const struct profile_stats *all, int err)
{
	bool is_there = folder_is_there(c->folder);
	struct profile_stats stats;

	c->failure = err;
	stats_of_segment(c, all, &stats);
	if (is_there) {
		say_failure(c, err);
		c->nr_all_unwritten += recfile_nr_lost(c->file);
		recfile_finish(c->file, &stats, monotonic_ns());
	} else {
		log_warning("'%s' was deleted, with %" PRIu64 " samples: it is made anew",
			    c->config.opts->path, stats.nr_samples);
		add_lost(c, stats.nr_samples);
	}
	leave_segment(c);
	if (is_there)
		c->nr_unwritten = 0;
}

static void prune(struct continuous *c, bool one_more)
{
	folder_prune(c->folder, boottime_ns(), c->file ? recfile_size_bytes(c->file) : 0, one_more);
}

/* Tells the source to free what the last segment needed. */
static void tell_source(struct continuous *c)
{
	bool forget = c->forget || segment_sink_is_large(c->sink);
	enum rights before = privileges_use(RIGHTS_BORROWED);

	c->config.ops->turn(c->config.source, forget);
	privileges_use(before);
	if (forget) {
		log_debug("what is known of stacks and names fills its share: they "
			  "are forgotten");
		segment_sink_forget(c->sink);
	}
	c->forget = false;
	malloc_trim(0);
}

/* Tries again to write after a failure. */
static void resume(struct continuous *c, const struct profile_stats *all, uint64_t now_ns)
{
	bool is_full = c->failure == -ENOSPC || c->failure == -EDQUOT;
	int err;

	add_lost(c, segment_sink_take_dropped(c->sink));
	prune(c, is_full && folder_is_there(c->folder));
	err = begin_segment(c, now_ns);
	if (err) {
		say_failure(c, err);
		return;
	}
	c->said = 0;
	c->before = *all;
	tell_source(c);
	log_info("'%s' is written to again; %" PRIu64 " samples were lost", c->config.opts->path,
		 c->nr_unwritten);
}

static void turn(struct continuous *c, const struct profile_stats *all, uint64_t now_ns)
{
	int err;

	end_segment(c, all, now_ns, false);
	c->before = *all;
	err = begin_segment(c, now_ns);
	if (err)
		say_failure(c, err);
	tell_source(c);
	folder_tidy_names(c->folder, boottime_ns());
	prune(c, false);
}

/* Writes what is pending. 0 or -errno. */
static int flush(struct continuous *c, const struct profile_stats *all, uint64_t now_ns)
{
	struct profile_stats stats;

	stats_of_segment(c, all, &stats);
	recfile_set_stats(c->file, &stats);
	c->flushed_ns = now_ns;
	if (!folder_is_there(c->folder))
		return -ENOENT;
	return recfile_flush(c->file);
}

/* Keeps segments that ended after since_ns; `max_bytes` as in folder_keep(). */
static void keep(struct continuous *c, int64_t since_ns, uint64_t max_bytes)
{
	bool is_full;
	int nr = folder_keep(c->folder, since_ns, max_bytes, &is_full);

	if (nr < 0)
		log_error(-nr, "keep segments of '%s'", c->config.opts->path);
	else
		log_info("%d segment%s kept in '%s/%s'", nr, nr == 1 ? " is" : "s are",
			 c->config.opts->path, KEPT_FOLDER);
	if (is_full) {
		log_warning("'%s/%s' has as much as --trigger-max-size allows: further segments "
			    "stay only as long as --keep and --max-size say",
			    c->config.opts->path, KEPT_FOLDER);
		log_hint("move away what is in it and not needed here");
	}
	c->kept_lacks_names = true;
}

/* Copies names to kept segments once the children have looked them up. */
static void keep_names(struct continuous *c)
{
	if (!c->kept_lacks_names || c->naming.nr)
		return;
	folder_keep_names(c->folder);
	c->kept_lacks_names = false;
}

/* A trigger has fired: the time before is kept, and the moment is marked. */
static void begin_incident(struct continuous *c, const char *what)
{
	const struct trigger_opts *o = &c->config.opts->triggers;
	int err = marks_add(folder_fd(c->folder), realtime_ns(), what);

	log_info("%s", what);
	if (err)
		log_error(-err, "add a mark to '%s'", c->config.opts->path);
	keep(c, boottime_ns() - (int64_t)o->keep_ns, o->max_bytes);
	if (rate_control_can(c->config.rate))
		log_info("sampling at %u Hz for %.0f s", c->config.rate->hz,
			 (double)o->for_ns / 1e9);
}

/* A segment is about to end: the source tells what has passed in it. Returns the present. */
static uint64_t tell_sums(struct continuous *c)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);

	if (c->config.ops->tell_sums)
		c->config.ops->tell_sums(c->config.source, c->front);
	privileges_use(before);
	return monotonic_ns();
}

/* Writes what is pending, and turns if that is due. */
static void write_out(struct continuous *c, bool due, uint64_t now_ns)
{
	struct profile_stats all;
	int err;

	if (due && c->file)
		now_ns = tell_sums(c);
	read_stats(c, &all);
	if (!c->file) {
		resume(c, &all, now_ns);
		return;
	}
	err = flush(c, &all, now_ns);
	if (err) {
		abandon_segment(c, &all, err);
		c->before = all;
		segment_sink_turn(c->sink, NULL);
		c->next_ns = now_ns;
	} else if (due) {
		turn(c, &all, now_ns);
	}
}

static void round_of_caller(struct continuous *c, uint64_t now_ns)
{
	struct sink *sink = segment_sink_front(c->sink);
	const char *fired = incident_poll(&c->incident, sink, now_ns);
	bool calm = incident_ends(&c->incident, sink, now_ns);
	bool asked_to_keep = segment_signals_take_keep(),
	     asked_to_turn = segment_signals_take_turn();
	bool due = asked_to_turn || asked_to_keep || fired || calm || now_ns >= c->next_ns;

	c->forget |= memory_watch_forget(c->config.memory, segment_sink_is_large(c->sink), now_ns);
	due |= c->forget;
	naming_poll(&c->naming, now_ns);
	naming_tell(&c->naming, sink);
	keep_names(c);
	if (!due && (!c->file || now_ns - c->flushed_ns < FLUSH_NS))
		return;
	write_out(c, due, now_ns);
	if (fired)
		begin_incident(c, fired);
	if (calm)
		keep(c, c->incident.since_ns, c->config.opts->triggers.max_bytes);
	if (asked_to_keep)
		keep(c, boottime_ns() - KEEP_NS, 0);
}

/* Works with the caller's rights, as the folder is the caller's. */
void continuous_round(struct continuous *c, struct sink *front, uint64_t now_ns)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);

	c->front = front;
	round_of_caller(c, now_ns);
	privileges_use(before);
}

static void read_boot(struct continuous *c)
{
	proc_text(c->boot, sizeof(c->boot), "/proc/sys/kernel/random/boot_id");
	c->boot[strcspn(c->boot, "\n")] = '\0';
}

int continuous_new(const struct continuous_config *config, struct continuous **ret)
{
	const struct memory_shares *memory = config->memory->shares;
	struct continuous *c = xcalloc(1, sizeof(*c));
	int err;

	alloc_return_memory();
	c->config = *config;
	c->meta = *config->meta;
	read_boot(c);
	c->meta.boot = c->boot[0] ? c->boot : NULL;
	c->meta.names_beside = true;
	/* Half, because the segment in memory has a vocabulary of its own. */
	c->sink = segment_sink_new(memory ? memory->vocabulary / 2 : 0);
	c->naming.memory = memory;
	c->incident = (struct incident){
		.opts = &config->opts->triggers,
		.triggers = config->triggers,
		.rate = config->rate,
	};
	incident_init(&c->incident);
	own_cost_read(&config->rate->parts, &c->cost);
	c->cost_ns = monotonic_ns();
	c->naming.on_finished = on_named;
	c->naming.context = c;
	err = flight_folder_open(config->opts, &c->folder);
	if (!err) {
		prune(c, false);
		err = begin_segment(c, monotonic_ns());
		if (err)
			log_error(-err, "write '%s/%s'", config->opts->path, c->name);
	}
	if (err) {
		continuous_free(c);
		return err;
	}
	segment_signals_catch();
	*ret = c;
	return 0;
}

void continuous_free(struct continuous *c)
{
	if (!c)
		return;
	naming_wait(&c->naming, monotonic_ns() + LAST_NAMES_NS);
	recfile_free(c->file);
	segment_sink_free(c->sink);
	folder_free(c->folder);
	free(c);
}

struct sink *continuous_sink(struct continuous *c)
{
	return segment_sink_front(c->sink);
}

uint64_t continuous_next_ns(const struct continuous *c)
{
	return c->next_ns;
}

uint64_t continuous_nr_lost(const struct continuous *c)
{
	return c->nr_all_unwritten + (c->file ? recfile_nr_lost(c->file) : 0);
}

uint64_t continuous_nr_segments(const struct continuous *c)
{
	return c->nr_segments;
}

uint64_t continuous_size_bytes(const struct continuous *c)
{
	return c->written_bytes + (c->file ? recfile_size_bytes(c->file) : 0);
}

void continuous_finish(struct continuous *c, const struct profile_stats *stats, uint64_t end_ns)
{
	if (!c->file)
		add_lost(c, segment_sink_take_dropped(c->sink));
	if (c->file)
		end_segment(c, stats, end_ns, true);
	naming_wait(&c->naming, monotonic_ns() + LAST_NAMES_NS);
	if (c->incident.until_ns)
		keep(c, c->incident.since_ns, c->config.opts->triggers.max_bytes);
	keep_names(c);
	log_info("%" PRIu64 " samples in %" PRIu64 " segment%s, %" PRIu64 " lost; '%s'",
		 stats->nr_samples - c->nr_all_unwritten, c->nr_segments,
		 c->nr_segments == 1 ? "" : "s", stats->nr_lost + c->nr_all_unwritten,
		 c->config.opts->path);
}
