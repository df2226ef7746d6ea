/*
 * The timer source: a library inside the targets takes the samples, from the handler of a timer
 * signal. It needs no rights at all, and works where the kernel lets nobody look from outside.
 */
#include "sampler/timer/source_timer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/attach/own_library.h"
#include "sampler/runtimes/python/interpreter_files.h"
#include "sampler/target/targets.h"
#include "sampler/timer/timer.h"
#include "sampler/timer/follow.h"
#include "sampler/timer/library.h"

#define SETTLE_NS (1000ull * 1000)
#define DRAIN_PERIODS                                                                              \
	100 /* a thread's samples between two looks into its ring, which has room for some */

static bool can_make_timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		return false;
	timer_delete(timer);
	return true;
}

static bool source_probe(char *why, size_t why_size, char *hint, size_t hint_size)
{
	char *library = own_library_find(TIMER_LIBRARY);
	bool found = library != NULL;

	free(library);
	hint[0] = '\0';
	if (!found) {
		snprintf(why, why_size, TIMER_LIBRARY " is not beside sprof, nor in ../lib/sprof");
		snprintf(hint, hint_size, "make install");
		return false;
	}
	if (!can_make_timers()) {
		snprintf(why, why_size, "the kernel makes no CPU timer: %s", strerror(errno));
		snprintf(hint, hint_size, "use a kernel built with CONFIG_POSIX_TIMERS=y");
		return false;
	}
	return true;
}

/* The library into the program that is about to be started, and with it the way back to us. */
static int prepare_launch(struct source *s, const struct source_config *config)
{
	char *library = own_library_find(TIMER_LIBRARY), why[128];
	const char *others = getenv("LD_PRELOAD");

	if (!timer_library_is_loaded_by(config->program, why, sizeof(why))) {
		log_error(0, "sample '%s' by timers: %s", config->program, why);
		log_hint(
			"--source ebpf and --source perf look from outside: sprof doctor says what "
			"they need");
		free(library);
		return -ENOTSUP;
	}
	if (!library || strpbrk(library, " :")) {
		log_error(0,
			  "preload '%s': a path with a blank or a colon cannot be given to the "
			  "loader",
			  library ? library : TIMER_LIBRARY);
		log_hint("install sprof somewhere else");
		free(library);
		return -EINVAL;
	}
	s->launched = config->launched;
	s->environment[0] = xasprintf("LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "",
				      others ? others : "");
	s->environment[1] = xasprintf(MEETING_VARIABLE "=%016llx:%d:%llu:%llu",
				      (unsigned long long)timer_meeting_name(s->meeting),
				      (int)getpid(), (unsigned long long)s->config.period_ns,
				      (unsigned long long)s->config.tick_ns);
	free(library);
	return 0;
}

static int add_target(struct source *s, pid_t id)
{
	pid_t pid = id;
	int err = targets_add(s->targets, id, &pid);

	if (err) {
		log_error(-err, "attach to process %d", (int)id);
		log_hint("it may have ended: pgrep -l NAME lists what runs");
		return err;
	}
	return timer_attach(s, pid);
}

static int add_targets(struct source *s, const struct source_config *config)
{
	int err = 0;

	if (config->system_wide) {
		log_error(0,
			  "sample the whole system by timers: they are made inside each process");
		log_hint("-p PID samples a process; sprof doctor says what --source ebpf needs");
		return -ENOTSUP;
	}
	if (config->launched)
		err = prepare_launch(s, config);
	for (size_t i = 0; i < config->nr_pids && !err; i++)
		err = add_target(s, config->pids[i]);
	return err;
}

static int open_epoll(struct source *s)
{
	struct epoll_event e = { .events = EPOLLIN };
	int err = 0;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, table_builder_event_fd(s->builder), &e))
		err = -errno;
	else
		err = timer_meeting_add_to_epoll(s->meeting, s->epoll_fd);
	if (err)
		log_error(-err, "wait for targets");
	return err;
}

static int make_tables(struct source *s)
{
	int err = walk_arena_new(&s->arena);

	if (err) {
		log_error(-err, "make room for unwind rows");
		return err;
	}
	s->builder = table_builder_new(walk_arena_rules(s->arena), WALK_NR_RULES);
	err = timer_meeting_new(&s->meeting);
	if (err)
		log_error(-err, "open a socket for targets");
	return err;
}

/* CPU timers are looked at when the kernel's clock ticks, which is how coarse clocks move on. */
static uint64_t tick_ns(void)
{
	struct timespec t;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &t) ? 0 : (uint64_t)t.tv_nsec;
}

static void source_close(struct source *s);

static int source_open(const struct source_config *config, struct source **ret)
{
	struct source *s = xcalloc(1, sizeof(*s));
	int err = 0;

	s->epoll_fd = -1;
	s->names_due_ns = UINT64_MAX;
	s->config.period_ns = 1000000000u / config->freq_hz;
	s->config.clock = config->wall_clock ? AGENT_CLOCK_WALL : AGENT_CLOCK_CPU;
	s->config.tick_ns = tick_ns();
	s->targets = targets_new();
	s->follow = timer_follow_new();
	s->codes = file_table_new();
	s->pythons = config->no_python ? NULL : python_files_new();
	s->queue = time_order_new();
	s->keys = stack_ids_new();
	sample_sink_init(&s->out, &s->stats);
	file_table_raise_limit();
	if (strcmp(config->event, "auto") && strcmp(config->event, "cpu-clock")) {
		log_error(0, "sample %s by timers: they know CPU time only", config->event);
		log_hint("use -e cpu-clock");
		err = -EOPNOTSUPP;
	}
	if (!err)
		err = make_tables(s);
	if (!err)
		err = add_targets(s, config);
	if (!err)
		err = open_epoll(s);
	if (err) {
		source_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

static int source_start(struct source *s)
{
	s->start_ns = monotonic_ns();
	return 0;
}

static const char *const *source_environment(const struct source *s)
{
	return (const char *const *)s->environment;
}

/* How long a round may wait for targets. */
static int wait_ms(const struct source *s, int timeout_ms)
{
	uint64_t drain_ms = s->config.period_ns * DRAIN_PERIODS / 1000000 + 1, now = monotonic_ns(),
		 names_ms = s->names_due_ns > now ? (s->names_due_ns - now) / 1000000 + 1 : 1,
		 most_ms = names_ms < drain_ms ? names_ms : drain_ms;

	return (uint64_t)timeout_ms > most_ms ? (int)most_ms : timeout_ms;
}

static int source_drain(struct source *s, struct sink *sink, int timeout_ms)
{
	struct epoll_event events[4];
	uint64_t now;

	if (epoll_wait(s->epoll_fd, events, 4, wait_ms(s, timeout_ms)) < 0 && errno != EINTR)
		return -errno;
	s->out.sink = sink;
	timer_meeting_serve(s->meeting, s);
	timer_wake_tend(s);
	timer_follow_tend(s);
	timer_tend(s);
	now = monotonic_ns();
	timer_read_samples(s, now - SETTLE_NS);
	s->out.sink = NULL;
	return targets_live(s->targets);
}

static void source_stop(struct source *s, struct sink *sink)
{
	s->stopping = true;
	for (struct timer_process *p = s->processes; p; p = p->next)
		timer_missed_tend(s, p);
	timer_wake_end(s);
	timer_follow_end(s);
	timer_stop_processes(s);
	s->out.sink = sink;
	timer_tend(s);
	timer_read_samples(s, UINT64_MAX);
	timer_missed_end(s);
	s->out.sink = NULL;
}

static void source_stats(const struct source *s, struct profile_stats *ret_stats)
{
	*ret_stats = s->stats;
}

static const char *source_event(const struct source *s)
{
	return s->config.clock == AGENT_CLOCK_WALL ? "wall-clock" : "cpu-clock";
}

static int source_open_module(void *context, uint32_t module)
{
	const struct source *s = context;

	return file_table_open_module(s->codes, module);
}

static void source_close(struct source *s)
{
	if (!s)
		return;
	table_builder_free(s->builder); /* writes rules: before they are freed */
	snapshot_unwinder_free(s->unwinder);
	timer_wake_free(s);
	timer_follow_free(s->follow);
	timer_meeting_free(s->meeting);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	timer_free_processes(s);
	walk_arena_free(s->arena);
	python_files_free(s->pythons);
	free(s->python_room);
	file_table_free(s->codes);
	time_order_free(s->queue);
	stack_ids_free(s->keys);
	sample_sink_fini(&s->out);
	targets_free(s->targets);
	for (size_t i = 0; i < sizeof(s->environment) / sizeof(s->environment[0]); i++)
		free(s->environment[i]);
	free(s);
}

const struct source_ops source_timer = {
	.name = "timer",
	.help = "timer signals inside the program: needs no rights",
	.probe = source_probe,
	.open = source_open,
	.environment = source_environment,
	.start = source_start,
	.drain = source_drain,
	.stop = source_stop,
	.stats = source_stats,
	.event = source_event,
	.open_module = source_open_module,
	.close = source_close,
};
