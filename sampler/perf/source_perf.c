/*
 * The perf source at its top: probes, opens events on its targets, and in each round empties the
 * rings, takes finished unwind tables and handles the records that are old enough to be in order.
 */
#include "sampler/perf/source_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/target/attach_error.h"
#include "core/base/log.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/expected_code.h"
#include "sampler/walk/stack_tables.h"
#include "sampler/perf/perf.h"
#include "sampler/perf/python_stacks.h"
#include "sampler/perf/task_events.h"
#include "core/rights/privileges.h"
#include "sampler/selection/members.h"
#include "sampler/selection/process_tree.h"
#include "sampler/selection/targets.h"

/* A record is visible to us at the latest this long after the time in it. */
#define SETTLE_NS (1000ull * 1000)
/* The last samples' Python frames are waited for so long, at most. */
#define STOP_MS 60

static int read_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = -2;

	if (f) {
		if (fscanf(f, "%d", &level) != 1)
			level = -2;
		fclose(f);
	}
	return level;
}

static bool source_probe(char *why, size_t why_size, char *hint, size_t hint_size)
{
	int paranoid = read_paranoid(), err;
	bool kernel;

	hint[0] = '\0';
	err = perf_events_check(&kernel);
	if (!err)
		return true;
	if (err == -ENOSYS || paranoid == -2) {
		snprintf(why, why_size, "the kernel has no perf events");
		snprintf(hint, hint_size, "use a kernel built with CONFIG_PERF_EVENTS=y");
	} else if ((err == -EACCES || err == -EPERM) && paranoid > 2) {
		snprintf(why, why_size, "kernel.perf_event_paranoid is %d", paranoid);
		snprintf(hint, hint_size, "sudo sysctl kernel.perf_event_paranoid=2");
	} else if (err == -EACCES || err == -EPERM) {
		snprintf(why, why_size, "perf_event_open(2) is refused, probably by seccomp: %s",
			 strerror(-err));
		snprintf(hint, hint_size,
			 "in a container: docker run --cap-add PERFMON --security-opt "
			 "seccomp=unconfined");
	} else {
		snprintf(why, why_size, "the kernel refuses a perf event: %s", strerror(-err));
	}
	return false;
}

/*
 * Where whole CPUs are watched, the switches of all their threads would be recorded, so no Python
 * frames are read.
 */
static bool wants_python(const struct source_config *config)
{
	return !config->no_python && !config->system_wide && !config->nr_cgroups &&
	       (config->runtime != RUNTIME_NONE_SEEN || config->by_user);
}

static enum source_fit source_fit(const struct source_config *config, char *why, size_t why_size)
{
	if (config->latency) {
		snprintf(why, why_size, "perf does not know what else runs");
		return SOURCE_CANNOT;
	}
	if (config->events) {
		snprintf(why, why_size, "perf samples no events beside the clock");
		return SOURCE_CANNOT;
	}
	if (config->syscalls) {
		snprintf(why, why_size, "perf does not count system calls");
		return SOURCE_CANNOT;
	}
	if (config->clock != CLOCK_CPU) {
		snprintf(why, why_size, "perf samples CPU time only");
		return SOURCE_CANNOT;
	}
	if (config->no_python || config->runtime == RUNTIME_NONE_SEEN)
		return SOURCE_FITS;
	snprintf(why, why_size, "perf %s Python frames%s",
		 wants_python(config) ? "may miss" : "records no",
		 config->runtime == RUNTIME_PYTHON ? "" : " of what it starts");
	return wants_python(config) ? SOURCE_MAY_MISS : SOURCE_MISSES;
}

static int open_events(struct source *s, const struct source_config *config)
{
	int err = perf_events_new(config->event, config->freq_hz, &s->events);

	if (err == -EOPNOTSUPP) {
		log_error(0, "sample cycles: this host has no hardware counters");
		log_hint("use -e cpu-clock");
	} else if (err) {
		log_error(-err, "open perf events");
	} else if (!perf_events_see_kernel(s->events)) {
		log_info("kernel code is not sampled: kernel.perf_event_paranoid is %d (to change "
			 "that: sudo sysctl kernel.perf_event_paranoid=1)",
			 read_paranoid());
	}
	return err;
}

static void keep_alone(struct source *s, pid_t pid)
{
	if (!s->no_children)
		return;
	s->alone = xgrow(s->alone, &s->alone_capacity, s->nr_alone + 1, sizeof(*s->alone));
	s->alone[s->nr_alone++] = pid;
}

/* Events are opened before /proc is read, so no later mapping is missed. */
static int add_process(struct source *s, pid_t pid, bool launched)
{
	struct process *p;
	int err;

	perf_events_begin_at_exec(s->events, launched);
	err = perf_events_add_process(s->events, pid, perf_queue_record, s);
	perf_events_begin_at_exec(s->events, false);
	if (err) {
		perf_events_report(s->events, pid, err);
		return err;
	}
	keep_alone(s, pid);
	if (launched)
		perf_launched(s, pid);
	else
		err = perf_process(s, pid, &p);
	if (err)
		attach_error_report("attach to", pid, err);
	return err;
}

static int add_target(void *context, pid_t id, struct process_tree *tree)
{
	struct source *s = context;
	pid_t pid = id;
	int err = targets_add(s->targets, id, &pid);

	if (err) {
		attach_error_report("attach to", id, err);
		return err;
	}
	if (pid != id)
		log_info("%d is a thread of process %d, which is sampled", (int)id, (int)pid);
	err = add_process(s, pid, false);
	/* The kernel ends events at an exec that gives more rights, but not at an earlier one. */
	if (!err && s->callers_only && !privileges_caller_may_read(pid)) {
		err = -EPERM;
		log_error(EPERM, "attach to process %d", (int)pid);
	}
	if (!err)
		process_tree_add_root(tree, pid);
	return err;
}

static int add_started(void *context, pid_t pid)
{
	struct source *s = context;
	struct process *p;
	int err = s->callers_only && !privileges_caller_may_read(pid) ? -EPERM : 0;

	if (!err)
		err = perf_events_add_process(s->events, pid, perf_queue_record, s);
	if (!err)
		keep_alone(s, pid);
	return err ? err : perf_process(s, pid, &p);
}

/*
 * Events of a cgroup see every process that enters it, but need the right to sample whole CPUs.
 * Without it, each process gets events of its own.
 */
static int add_members(struct source *s, const struct source_config *config)
{
	size_t nr = 0;
	int err = 0;

	while (nr < config->nr_cgroups && !err) {
		err = perf_events_add_cgroup(s->events, config->cgroups[nr]);
		nr += !err;
	}
	if (nr) {
		if (err)
			log_error(-err, "open perf events on cgroup '%s'", config->cgroups[nr]);
		return err;
	}
	s->polls_members = true;
	members_begin(s->members, add_started, s);
	return 0;
}

/* What the targets run now comes first. */
static void order_tables(struct source *s)
{
	size_t left = STACK_TABLES_MAX;

	for (struct process *p = s->processes; p && left; p = p->hh.next) {
		left -= stack_tables_first(p, s->builder, left);
		expected_code_note(s->runtime, p, monotonic_ns());
	}
}

static int add_targets(struct source *s, const struct source_config *config)
{
	struct process_tree tree = { 0 };
	int err = 0;

	if (s->no_children)
		perf_events_keep_to_threads(s->events);
	if (s->system_wide)
		err = perf_events_add_machine(s->events);
	if (config->launched)
		err = add_process(s, config->launched, true);
	if (!err)
		err = process_tree_add_named(&tree, config, add_target, s);
	if (!err && !config->no_children)
		process_tree_follow(&tree, add_started, s);
	process_tree_fini(&tree);
	return err || !s->members ? err : add_members(s, config);
}

static int open_epoll(struct source *s)
{
	struct epoll_event e = { .events = EPOLLIN };
	int err;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, table_builder_event_fd(s->builder), &e))
		err = -errno;
	else
		err = perf_events_add_to_epoll(s->events, s->epoll_fd);
	if (err)
		log_error(-err, "wait for perf events");
	return err;
}

static void want_python(struct source *s, const struct source_config *config)
{
	s->python = python_stacks_new(&s->limits, config->sandbox);
	s->out.python_codes = python_stacks_codes(s->python);
	if (s->python)
		perf_events_wake_at_once(s->events);
}

/* From the first Python process on, the readers of Python frames wake us and not each sample. */
static void let_readers_wake(struct source *s)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (s->python_wakes || !python_stacks_poll(s->python, s->events) ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, python_stacks_event_fd(s->python), &e))
		return;
	perf_events_remove_from_epoll(s->events, s->epoll_fd);
	s->python_wakes = true;
}

static void source_close(struct source *s);

static int source_open(const struct source_config *config, struct source **ret)
{
	struct source *s = xcalloc(1, sizeof(*s));
	int err;

	s->epoll_fd = -1;
	s->system_wide = config->system_wide;
	s->callers_only = config->callers_only;
	s->no_children = config->no_children;
	s->targets = targets_new();
	s->members = members_new(config);
	s->files = file_table_new();
	s->sandbox = config->sandbox;
	file_table_confine(s->files, config->sandbox);
	s->queue = time_order_new();
	s->rules = xcalloc(WALK_NR_RULES, sizeof(*s->rules));
	s->builder = table_builder_new(s->rules, config->sandbox, config->cache);
	s->runtime = runtime_unwind_new(s->builder, WALK_MAX_MODULES, s->rules, NULL, NULL);
	s->handled_ns = monotonic_ns();
	sample_sink_init(&s->out, &s->stats);
	sample_sink_keep_processes(&s->out);
	file_table_raise_limit();
	err = open_events(s, config);
	if (!err && wants_python(config))
		want_python(s, config);
	else if (!err && !config->no_python && (config->system_wide || config->nr_cgroups))
		log_info("perf reads no Python frames of whole CPUs (-a, --cgroup)");
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

static size_t source_await_tables(struct source *s, int timeout_ms)
{
	uint64_t end = monotonic_ns() + (uint64_t)timeout_ms * 1000000;

	while (table_builder_wait(s->builder, end))
		perf_take_tables(s);
	perf_tidy(s);
	/* The rings hold samples already, which start() has not asked for. */
	perf_read_rings(s);
	perf_handle_records(s, monotonic_ns() - SETTLE_NS);
	return table_builder_nr_pending(s->builder);
}

static int source_start(struct source *s)
{
	for (struct process *p = s->processes; p; p = p->hh.next)
		expected_code_end(p);
	let_readers_wake(s);
	s->start_ns = monotonic_ns();
	return 0;
}

static int source_drain(struct source *s, struct sink *sink, int timeout_ms)
{
	struct epoll_event events[16];
	uint64_t now;

	if (epoll_wait(s->epoll_fd, events, 16, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	s->out.sink = sink;
	now = monotonic_ns();
	perf_read_rings(s);
	if (s->polls_members) {
		members_poll(s->members, add_started, s);
		if (!s->python_wakes)
			perf_events_add_to_epoll(s->events, s->epoll_fd);
	}
	let_readers_wake(s);
	perf_tidy(s);
	perf_handle_records(s, now - SETTLE_NS);
	limits_set_files(&s->limits, s->files);
	limits_set_guesses(&s->limits, source_unwinder_refused(s->unwinder));
	limits_tell(&s->limits, sink);
	s->out.sink = NULL;
	return targets_live(s->targets) && members_live(s->members);
}

/* What was sampled last is still being read. */
static void finish_waiting(struct source *s)
{
	for (int i = 0; i < STOP_MS && python_stacks_horizon(s->python) != UINT64_MAX; i++) {
		usleep(1000);
		perf_read_rings(s);
	}
}

static void source_stop(struct source *s, struct sink *sink)
{
	perf_events_disable(s->events);
	s->out.sink = sink;
	perf_read_rings(s);
	perf_tidy(s);
	finish_waiting(s);
	perf_handle_records(s, UINT64_MAX);
	limits_set_files(&s->limits, s->files);
	limits_set_guesses(&s->limits, source_unwinder_refused(s->unwinder));
	limits_tell(&s->limits, sink);
	sample_sink_end(&s->out);
	s->out.sink = NULL;
}

static void source_turn(struct source *s, bool forget)
{
	file_table_turn(s->files, forget);
	if (forget)
		sample_sink_forget(&s->out);
}

static void source_stats(const struct source *s, struct profile_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->nr_limits += limits_total(&s->limits);
}

static const char *source_event(const struct source *s)
{
	return perf_events_name(s->events);
}

static int source_open_module(void *context, uint32_t module)
{
	const struct source *s = context;

	return file_table_open_module(s->files, module);
}

static int source_open_root(void *context, uint32_t module, size_t *ret_prefix)
{
	const struct source *s = context;

	return file_table_open_root(s->files, module, ret_prefix);
}

static void source_close(struct source *s)
{
	if (!s)
		return;
	perf_events_free(s->events);
	table_builder_free(s->builder); /* writes rules: before they are freed */
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	source_unwinder_free(s->unwinder); /* reads the mapped files */
	perf_free_tables(s);
	python_stacks_free(s->python);
	runtime_unwind_free(s->runtime); /* the processes have its rows */
	file_table_free(s->files);
	time_order_free(s->queue);
	sample_sink_fini(&s->out);
	targets_free(s->targets);
	members_free(s->members);
	free(s->alone);
	limits_fini(&s->limits);
	free(s->rules);
	free(s);
}

const struct source_ops source_perf = {
	.name = "perf",
	.help = "perf events alone: no BPF rights needed, own processes as an ordinary user",
	.privileges = PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_PERFMON) | PRIVILEGE(CAP_SYS_NICE),
	.probe = source_probe,
	.fit = source_fit,
	.open = source_open,
	.await_tables = source_await_tables,
	.start = source_start,
	.drain = source_drain,
	.stop = source_stop,
	.turn = source_turn,
	.stats = source_stats,
	.event = source_event,
	.open_module = source_open_module,
	.open_root = source_open_root,
	.close = source_close,
};
