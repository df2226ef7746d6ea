/*
 * The timer source at its top: makes its parts, gives each what it needs of the others, and drives
 * them once in a round. Code inside the targets takes the samples, in the handler of a timer
 * signal, so it needs no rights and works where the kernel lets nobody look from outside.
 *
 *	processes	the targets: their regions, mappings and threads
 *	drain		samples from the regions to the sink
 *	wake		targets that are asked to come
 *	rendezvous	where they come to
 *	follow		what the targets start
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
#include "core/rights/privileges.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/attach/own_library.h"
#include "sampler/selection/admission.h"
#include "sampler/target/attach_error.h"
#include "sampler/target/exec_environment.h"
#include "sampler/sink/limits.h"
#include "sampler/target/mapped_file.h"
#include "sampler/selection/members.h"
#include "sampler/selection/process_tree.h"
#include "sampler/selection/targets.h"
#include "sampler/timer/attach_target.h"
#include "sampler/timer/drain.h"
#include "sampler/timer/follow.h"
#include "sampler/timer/library.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/timer/rendezvous.h"
#include "sampler/timer/wake.h"
#include "sampler/timer/wake_signal.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/expected_code.h"
#include "sampler/walk/stack_tables.h"
#include "sampler/walk/table_builder.h"

#define SETTLE_NS (1000ull * 1000)
#define DRAIN_PERIODS 100 /* at most as many samples of a thread from one round to the next */
#define COPIES_MS 20	  /* a ring holds ten copies of stacks */
#define DEEP_PERIODS 12	  /* the same while stacks may be deep: a ring holds 16 of the deepest */
#define MIN_DEEP_MS 10	  /* but no shorter rounds than these */
#define SLEEP_AGAIN_NS (20ull * 1000 * 1000)

struct source {
	struct profile_stats stats;
	struct limits limits;
	struct targets *targets;
	struct members *members; /* of a cgroup or user; NULL: not asked for */
	struct timer_processes processes;
	struct timer_rendezvous *rendezvous;
	struct timer_wake *wake;
	struct timer_drain *drain;
	struct timer_follow *follow;
	int epoll_fd;
	struct admission *admission;
	char *environment[4];		    /* of the program to be launched: NAME=VALUE */
	const struct source_config *config; /* while targets are added */
};

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

static bool knows_event(const char *event)
{
	return !strcmp(event, "auto") || !strcmp(event, "cpu-clock");
}

static enum source_fit source_fit(const struct source_config *config, char *why, size_t why_size)
{
	size_t nr_refused = 0;
	struct timer_way way;
	char reason[128];
	const char *lack = config->clock == CLOCK_OFF ? "cannot sample waits alone"
			   : config->latency	      ? "does not know what else runs"
			   : config->events	      ? "samples no events beside the clock"
			   : config->syscalls	      ? "does not count system calls"
			   : config->wakers	      ? "does not see who wakes a thread"
			   : config->wait_period_ns   ? "has no period of its own for waits"
						      : NULL;
	if (lack) {
		snprintf(why, why_size, "timer %s", lack);
		return SOURCE_CANNOT;
	}
	if (config->system_wide || !knows_event(config->event)) {
		snprintf(why, why_size, "timer samples %s",
			 config->system_wide ? "no whole system" : "CPU time only");
		return SOURCE_CANNOT;
	}
	if (config->program &&
	    !timer_library_is_loaded_by(config->program, reason, sizeof(reason))) {
		snprintf(why, why_size, "timer cannot come into '%s': %s", config->program, reason);
		return SOURCE_CANNOT;
	}
	for (size_t i = 0; i < config->nr_pids; i++) {
		source_timer_probe_process(config->pids[i], NULL, &way);
		if (way.ok)
			continue;
		snprintf(why, why_size, "process %d cannot be attached to: %s",
			 (int)config->pids[i], way.why);
		nr_refused++;
	}
	return nr_refused && (nr_refused == config->nr_pids || !config->some_may_fail)
		       ? SOURCE_CANNOT
		       : SOURCE_FITS;
}

/*
 * The environment by which the program that is about to be started loads the library and finds us.
 */
static int prepare_launch(struct source *s, const struct source_config *config)
{
	char *library = own_library_find(TIMER_LIBRARY), why[128];
	const char *others = exec_environment_value("LD_PRELOAD");

	if (!timer_library_is_loaded_by(config->program, why, sizeof(why))) {
		log_error(0, "sample '%s' by timers: %s", config->program, why);
		log_hint("ebpf and perf look from outside: sprof doctor says what they need");
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
	s->processes.launched = config->launched;
	admission_add(s->admission, config->launched);
	s->environment[0] = xasprintf("LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "",
				      others ? others : "");
	s->environment[1] =
		xasprintf(RENDEZVOUS_VARIABLE "=%016llx:%d:%llu:%llu",
			  (unsigned long long)timer_rendezvous_name(s->rendezvous), (int)getpid(),
			  (unsigned long long)s->processes.config.period_ns,
			  (unsigned long long)s->processes.config.tick_ns);
	s->environment[2] = xstrdup(admission_ticket(s->admission));
	free(library);
	return 0;
}

static struct timer_reception reception(struct source *s)
{
	return (struct timer_reception){ &s->processes, s->wake, s->drain, s->admission };
}

static int add_target(void *context, pid_t id, struct process_tree *tree)
{
	struct source *s = context;
	const struct timer_reception to = reception(s);
	pid_t pid = id;
	int err = targets_add(s->targets, id, &pid);

	if (!err && s->processes.callers_only && !privileges_caller_may_read(pid))
		err = -EPERM;
	if (err) {
		attach_error_report("attach to", id, err);
		return err;
	}
	admission_add(s->admission, pid);
	err = timer_attach(&to, s->rendezvous, pid, s->config);
	if (!err)
		process_tree_add_root(tree, pid);
	return err;
}

/* What the targets run now comes first. */
static void order_tables(struct source *s)
{
	size_t left = STACK_TABLES_MAX;

	for (struct timer_process *p = s->processes.first; p && left; p = p->next) {
		left -= stack_tables_first(&p->maps, s->processes.publish.builder, left);
		expected_code_note(s->processes.publish.runtime, &p->maps, monotonic_ns());
	}
}

static int add_targets(struct source *s, const struct source_config *config)
{
	struct process_tree tree = { 0 };
	int err = 0;

	s->config = config;
	if (config->system_wide) {
		log_error(0,
			  "sample the whole system by timers: they are made inside each process");
		log_hint("-p PID samples a process; sprof doctor says what --source ebpf needs");
		return -ENOTSUP;
	}
	if (config->launched)
		err = prepare_launch(s, config);
	if (!err)
		err = process_tree_add_named(&tree, config, add_target, s);
	s->config = NULL;
	if (!err)
		timer_follow_begin(s->follow, &tree);
	process_tree_fini(&tree);
	return err;
}

static int open_epoll(struct source *s)
{
	struct epoll_event e = { .events = EPOLLIN };
	int err = 0;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD,
					 table_builder_event_fd(s->processes.publish.builder), &e))
		err = -errno;
	else
		err = timer_rendezvous_add_to_epoll(s->rendezvous, s->epoll_fd);
	if (err)
		log_error(-err, "wait for targets");
	return err;
}

/*
 * The kernel looks at CPU timers when its clock ticks; the resolution of a coarse clock is that
 * tick.
 */
static uint64_t tick_ns(void)
{
	struct timespec t;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &t) ? 0 : (uint64_t)t.tv_nsec;
}

static void source_close(struct source *s);

static int make_parts(struct source *s, const struct source_config *config)
{
	const struct timer_region_config region = {
		.period_ns = 1000000000u / config->freq_hz,
		.clock = config->clock == CLOCK_WALL ? AGENT_CLOCK_WALL : AGENT_CLOCK_CPU,
		.tick_ns = tick_ns(),
	};
	int err = timer_processes_init(&s->processes, &region, !config->no_python, &s->stats,
				       &s->limits, config->sandbox, config->cache);

	if (err)
		return err;
	s->processes.callers_only = config->callers_only;
	err = timer_rendezvous_new(&s->rendezvous);
	if (err) {
		log_error(-err, "open a socket for targets");
		return err;
	}
	/* Where waiting is sampled too, every sample interrupts it: waking may do so as well. */
	s->wake = timer_wake_new(timer_rendezvous_name(s->rendezvous), config->clock == CLOCK_WALL);
	s->admission = admission_new("SPROF_TICKET");
	s->drain = timer_drain_new(&s->processes, &s->stats, config->sandbox);
	s->processes.publish.on_release = timer_drain_forget_file;
	s->processes.publish.context = s->drain;
	s->processes.no_children = config->no_children;
	s->follow = timer_follow_new(&s->processes, s->wake, s->members, config->no_children);
	return 0;
}

static int source_open(const struct source_config *config, struct source **ret)
{
	struct source *s;
	int err;

	if (!knows_event(config->event)) {
		log_error(0, "sample %s by timers: they know CPU time only", config->event);
		log_hint("use -e cpu-clock");
		return -EOPNOTSUPP;
	}
	s = xcalloc(1, sizeof(*s));
	s->epoll_fd = -1;
	s->targets = targets_new();
	s->members = members_new(config);
	err = make_parts(s, config);
	if (!err)
		err = add_targets(s, config);
	if (!err && !config->launched)
		order_tables(s);
	if (!err)
		err = open_epoll(s);
	if (err) {
		source_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

/* Targets sample themselves already: their rings are emptied, and what was in them is dropped. */
static size_t source_await_tables(struct source *s, int timeout_ms)
{
	struct timer_publish *publish = &s->processes.publish;
	uint64_t end = monotonic_ns() + (uint64_t)timeout_ms * 1000000;

	while (table_builder_wait(publish->builder, end))
		timer_publish_poll(publish);
	for (struct timer_process *p = s->processes.first; p; p = p->next)
		timer_region_beat(&p->region);
	for (struct timer_process *p = s->processes.first; p; p = p->next)
		timer_publish_look(publish, p, monotonic_ns());
	timer_drain_read(s->drain, 0);
	return table_builder_nr_pending(publish->builder);
}

static int source_start(struct source *s)
{
	for (struct timer_process *p = s->processes.first; p; p = p->next) {
		if (p->attached.attach)
			timer_missed_begin(p);
		expected_code_end(&p->maps);
	}
	timer_drain_start(s->drain);
	return 0;
}

const char *const *source_timer_environment(const struct source *s)
{
	return (const char *const *)s->environment;
}

/* How long a round may wait for targets. */
static int wait_ms(const struct source *s, int timeout_ms)
{
	uint64_t drain_ms = s->processes.config.period_ns * DRAIN_PERIODS / 1000000 + 1,
		 deep_ms = s->processes.config.period_ns * DEEP_PERIODS / 1000000 + 1,
		 now = monotonic_ns(),
		 names_ms = s->processes.names_due_ns > now
				    ? (s->processes.names_due_ns - now) / 1000000 + 1
				    : 1,
		 most_ms = names_ms < drain_ms ? names_ms : drain_ms;

	if (s->processes.publish.has_copies && most_ms > COPIES_MS)
		most_ms = COPIES_MS;
	deep_ms = deep_ms < MIN_DEEP_MS ? MIN_DEEP_MS : deep_ms;
	if (timer_drain_is_deep(s->drain) && most_ms > deep_ms)
		most_ms = deep_ms;
	return (uint64_t)timeout_ms > most_ms ? (int)most_ms : timeout_ms;
}

static int source_drain(struct source *s, struct sink *sink, int timeout_ms)
{
	const struct timer_reception to = reception(s);
	struct epoll_event events[4];
	uint64_t now;

	timeout_ms =
		runtime_unwind_timeout_ms(s->processes.publish.runtime, wait_ms(s, timeout_ms));
	if (epoll_wait(s->epoll_fd, events, 4, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	timer_drain_set_sink(s->drain, sink);
	timer_rendezvous_serve(s->rendezvous, &to);
	timer_wake_poll(s->wake);
	timer_follow_poll(s->follow);
	timer_processes_poll(&s->processes);
	now = monotonic_ns();
	timer_drain_read(s->drain, now - SETTLE_NS);
	timer_drain_set_sink(s->drain, NULL);
	limits_set_files(&s->limits, s->processes.publish.files);
	limits_tell(&s->limits, sink);
	return targets_live(s->targets) && members_live(s->members);
}

/* After this no handler takes samples any more. */
static void stop_processes(struct source *s)
{
	uint64_t until = monotonic_ns() + SLEEP_AGAIN_NS;

	for (struct timer_process *p = s->processes.first; p; p = p->next)
		timer_region_stop(&p->region);
	for (struct timer_process *p = s->processes.first; p; p = p->next) {
		timer_sleep_again(p, until);
		timer_attached_end(p);
	}
}

static void source_stop(struct source *s, struct sink *sink)
{
	s->processes.stopping = true;
	for (struct timer_process *p = s->processes.first; p; p = p->next)
		timer_missed_poll(&s->processes.config, p, true);
	timer_wake_end(s->wake);
	timer_follow_end(s->follow);
	stop_processes(s);
	timer_drain_set_sink(s->drain, sink);
	timer_processes_poll(&s->processes);
	timer_drain_read(s->drain, UINT64_MAX);
	timer_missed_end(&s->processes.config, s->processes.first);
	timer_drain_finish(s->drain);
	admission_report(s->admission, "to be sampled");
	timer_drain_set_sink(s->drain, NULL);
	limits_set_files(&s->limits, s->processes.publish.files);
	limits_tell(&s->limits, sink);
}

static void source_stats(const struct source *s, struct profile_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->nr_limits += limits_total(&s->limits);
}

static const char *source_event(const struct source *s)
{
	return s->processes.config.clock == AGENT_CLOCK_WALL ? "wall-clock" : "cpu-clock";
}

static int source_open_module(void *context, uint32_t module)
{
	const struct source *s = context;

	return file_table_open_module(s->processes.publish.files, module);
}

static int source_open_root(void *context, uint32_t module, size_t *ret_prefix)
{
	const struct source *s = context;

	return file_table_open_root(s->processes.publish.files, module, ret_prefix);
}

static void source_close(struct source *s)
{
	if (!s)
		return;
	timer_drain_free(s->drain);
	timer_follow_free(s->follow);
	timer_wake_free(s->wake);
	timer_rendezvous_free(s->rendezvous);
	admission_free(s->admission);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	timer_processes_fini(&s->processes);
	targets_free(s->targets);
	members_free(s->members);
	limits_fini(&s->limits);
	for (size_t i = 0; i < sizeof(s->environment) / sizeof(s->environment[0]); i++)
		free(s->environment[i]);
	free(s);
}

const struct source_ops source_timer = {
	.name = "timer",
	.help = "timer signals inside the program: needs no rights",
	/* A child that is attached to later: reads its seccomp filters, writes /proc/PID/mem. */
	.privileges = PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_DAC_OVERRIDE),
	.probe = source_probe,
	.fit = source_fit,
	.open = source_open,
	.await_tables = source_await_tables,
	.start = source_start,
	.drain = source_drain,
	.stop = source_stop,
	.stats = source_stats,
	.event = source_event,
	.open_module = source_open_module,
	.open_root = source_open_root,
	.close = source_close,
};
