/*
 * The eBPF source at its top: makes its parts, gives each what it needs of the others, and drives
 * them once in a round.
 *
 *	kernel_side	the BPF program and its maps
 *	files		mapped files and their unwind rows
 *	processes	the processes that are followed, their mappings
 *	snapshots	stacks that are unwound in user space
 *	drain		records in order of time, to the sink
 *	resync		what to do when events were lost
 */
#include "sampler/ebpf/source_ebpf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "sampler/ebpf/cpu_events.h"
#include "sampler/ebpf/ebpf_drain.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/sink/limits.h"
#include "sampler/ebpf/ebpf_probe.h"
#include "sampler/ebpf/ebpf_python.h"
#include "sampler/ebpf/ebpf_snapshot.h"
#include "sampler/ebpf/ebpf_targets.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/ebpf/prefetch_rows.h"
#include "sampler/ebpf/resync.h"
#include "sampler/events/counted_events.h"
#include "sampler/target/attach_error.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"
#include "sampler/selection/members.h"
#include "sampler/selection/process_tree.h"
#include "sampler/target/sideband.h"
#include "sampler/selection/targets.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/expected_code.h"
#include "sampler/walk/table_builder.h"
#include "sampler/waiting/syscalls_side.h"
#include "sampler/waiting/waiting_side.h"

/* A record is visible to us at the latest this long after the time in it. */
#define SETTLE_NS (1000ull * 1000)
#define SETTLE_MS 2
/*
 * Unwinding a snapshot can cost a millisecond, and a burst of new processes brings thousands: they
 * get a share of each round, and those that are left wait for the next.
 */
#define UNWIND_NS (300ull * 1000 * 1000)
#define LAST_UNWIND_NS (1000ull * 1000 * 1000)
#define LIMITS_NS (1000ull * 1000 * 1000)

struct source {
	struct profile_stats stats;
	struct limits limits;
	uint64_t limits_ns;	 /* when they are told next: asking the kernel costs some calls */
	struct targets *targets; /* as named on the command line */
	bool callers_only;	 /* as in source_config */
	enum source_clock clock;
	bool has_clock;		 /* running threads are sampled by time */
	struct members *members; /* of a cgroup or user when recording began; NULL: not asked for */
	struct kernel_side kernel;
	struct ebpf_files files;
	struct ebpf_pythons *pythons; /* NULL: Python frames are not wanted */
	struct ebpf_targets processes;
	struct ebpf_snapshots *snapshots;
	struct ebpf_drain *drain;
	struct ebpf_resync resync;
	/* where records come from */
	struct cpu_events *events;
	struct counted_events *counted; /* NULL: none */
	struct ring_buffer *ring;
	struct sideband *sideband;
	int epoll_fd;
};

static int open_epoll(struct source *s)
{
	struct epoll_event e = { .events = EPOLLIN };
	int ring = ring_buffer__epoll_fd(s->ring),
	    tables = table_builder_event_fd(s->files.builder);

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring, &e) ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, tables, &e))
		return -errno;
	return sideband_add_to_epoll(s->sideband, s->epoll_fd);
}

static int add_target(void *context, pid_t id, struct process_tree *tree)
{
	struct source *s = context;
	struct process *p;
	pid_t pid = id;
	int err = targets_add(s->targets, id, &pid);

	if (!err)
		err = ebpf_process(&s->processes, pid, EXEC_ID_ANY, &p);
	/* Execs are seen from here on; one that came before would be missed. */
	if (!err && s->callers_only && !privileges_caller_may_read(pid))
		err = -EPERM;
	if (!err && pid != id)
		log_info("%d is a thread of process %d, which is sampled", (int)id, (int)pid);
	if (!err)
		process_tree_add_root(tree, pid);
	if (err)
		attach_error_report("attach to", id, err);
	return err;
}

static int add_started(void *context, pid_t pid)
{
	struct source *s = context;
	struct process *p;

	return ebpf_process(&s->processes, pid, EXEC_ID_ANY, &p);
}

/*
 * Forks of a process are seen from the moment it is added; its older children are read after that.
 */
static int add_targets(struct source *s, const struct source_config *config)
{
	struct process_tree tree = { 0 };
	int err;

	if (config->launched)
		ebpf_launched(&s->processes, config->launched);
	if (config->program)
		prefetch_files(config->program, ebpf_files_expect, &s->files);
	err = process_tree_add_named(&tree, config, add_target, s);
	if (!err && !config->no_children)
		process_tree_follow(&tree, add_started, s);
	process_tree_fini(&tree);
	if (!err && s->members)
		members_begin(s->members, add_started, s);
	if (!err && !config->launched)
		ebpf_order_tables(&s->processes);
	return err;
}

/* Loads the BPF program and makes the parts around it. */
static int make_parts(struct source *s, const struct source_config *config)
{
	const struct kernel_side_config kernel = {
		.source = config,
		.period_ns = cpu_events_period_ns(s->events),
		.least_period_ns =
			1000000000u / (config->max_freq_hz > config->freq_hz ? config->max_freq_hz
									     : config->freq_hz),
		.tracepoints = s->counted && counted_events_tracepoints(s->counted),
		.event_periods = s->counted ? counted_events_periods(s->counted) : NULL,
	};
	int err = kernel_side_init(&s->kernel, &kernel);

	if (err)
		return err;
	ebpf_files_init(&s->files, &s->kernel, &s->limits, config->sandbox, config->cache,
			config->memory);
	if (!config->no_python)
		s->pythons = ebpf_pythons_new(kernel_side_pythons(&s->kernel), &s->limits);
	ebpf_targets_init(&s->processes, &s->kernel, &s->files, s->pythons, &s->limits);
	s->snapshots = ebpf_snapshots_new(&s->files, s->pythons, config->sandbox);
	s->files.on_release = ebpf_snapshots_forget;
	s->files.context = s->snapshots;
	s->drain = ebpf_drain_new(&s->processes, s->snapshots, &s->stats, config->sandbox,
				  config->memory);
	s->ring = ring_buffer__new(kernel_side_ring(&s->kernel), ebpf_drain_queue_record, s->drain,
				   NULL);
	return s->ring ? 0 : -errno;
}

/* Opens what records come from. On failure *ret_what says what could not be done. */
static int open_events(struct source *s, const char **ret_what)
{
	int err = sideband_open(&s->sideband);

	*ret_what = "open perf events";
	if (!err)
		err = cpu_events_open(s->events, kernel_side_sample_program(&s->kernel));
	if (!err)
		err = open_epoll(s);
	if (err)
		return err;
	*ret_what = "attach to fork, exec and exit";
	return kernel_side_attach(&s->kernel);
}

static void source_close(struct source *s);

static int source_open(const struct source_config *config, struct source **ret)
{
	struct source *s;
	const char *what = "load the BPF program";
	char why[256];
	int err;

	if (ebpf_fit(config, why, sizeof(why)) == SOURCE_CANNOT) {
		log_error(0, "%s: %s",
			  config->clock == CLOCK_CPU ? "count system calls" : "sample waits", why);
		return -ENOTSUP;
	}
	s = xcalloc(1, sizeof(*s));
	s->clock = config->clock;
	s->has_clock = s->clock != CLOCK_OFF && !(config->events && config->events->alone);
	s->epoll_fd = -1;
	s->targets = targets_new();
	s->callers_only = config->callers_only;
	s->members = members_new(config);
	err = cpu_events_new(config->event, config->freq_hz, &s->events);
	if (err) {
		log_error(0, "sample cycles: this host has no hardware counters");
		log_hint("use -e cpu-clock");
		source_close(s);
		return err;
	}
	err = config->events ? counted_events_new(config->events, config->freq_hz, &s->counted) : 0;
	if (err) {
		source_close(s);
		return err;
	}
	err = make_parts(s, config);
	if (err == -EOPNOTSUPP && config->latency)
		what = "see what each CPU runs, for --latency";
	if (!err)
		err = open_events(s, &what);
	if (err)
		log_error(-err, "%s", what);
	else
		err = add_targets(s, config);
	if (err) {
		source_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

/* The rings are emptied meanwhile: the records of a second might be more than they hold. */
static size_t source_await_tables(struct source *s, int timeout_ms)
{
	ebpf_files_await(&s->files, monotonic_ns() + (uint64_t)timeout_ms * 1000000);
	ebpf_targets_poll(&s->processes);
	sideband_read(s->sideband, ebpf_drain_queue_sideband, s->drain);
	ring_buffer__consume(s->ring);
	return table_builder_nr_pending(s->files.builder);
}

static int source_start(struct source *s)
{
	int err;

	for (struct process *p = s->processes.processes; p; p = p->hh.next)
		expected_code_end(p);
	ebpf_files_poll(&s->files, monotonic_ns()); /* for a program that begins at once */
	err = s->kernel.waiting ? waiting_side_start(s->kernel.waiting) : 0;
	if (!err && s->kernel.syscalls)
		err = syscalls_side_start(s->kernel.syscalls);
	if (!err && s->counted)
		err = counted_events_start(
			s->counted,
			&(struct event_programs){ kernel_side_event_program(&s->kernel, false),
						  kernel_side_event_program(&s->kernel, true),
						  kernel_side_growth_program(&s->kernel) });
	if (!err && s->has_clock)
		err = cpu_events_enable(s->events);
	if (err)
		log_error(-err, "start sampling");
	return err;
}

/* Empties the rings and handles what is old enough to be in order. */
static size_t drain_rings(struct source *s, uint64_t before_ns)
{
	sideband_read(s->sideband, ebpf_drain_queue_sideband, s->drain);
	ring_buffer__consume(s->ring);
	return ebpf_drain_handle(s->drain, before_ns);
}

static void tell_limits(struct source *s, struct sink *sink)
{
	kernel_side_set_limits(&s->kernel, &s->limits);
	limits_set_files(&s->limits, s->files.table);
	limits_set_guesses(&s->limits, ebpf_snapshots_refused(s->snapshots));
	limits_tell(&s->limits, sink);
}

static void read_throttles(struct source *s)
{
	s->stats.nr_throttled +=
		cpu_events_read_throttles(s->events) + counted_events_read_throttles(s->counted);
}

static void settle(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = SETTLE_MS * 1000000l }, NULL);
}

static int source_drain(struct source *s, struct sink *sink, int timeout_ms)
{
	struct epoll_event events[16];
	uint64_t now, handled;
	size_t left;

	timeout_ms = ebpf_targets_timeout_ms(&s->processes, timeout_ms);
	timeout_ms = runtime_unwind_timeout_ms(s->files.runtime, timeout_ms);
	if (ebpf_drain_is_behind(s->drain))
		timeout_ms = 0;
	if (epoll_wait(s->epoll_fd, events, 16, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	now = monotonic_ns();
	counted_events_tell(s->counted, sink); /* first, for an unfinished recording */
	ebpf_drain_begin(s->drain, sink, now + UNWIND_NS);
	handled = now - SETTLE_NS;
	left = drain_rings(s, handled);
	ebpf_targets_poll(&s->processes);
	if (left) {
		settle();
		handled = now;
		ebpf_drain_handle(s->drain, handled);
		ebpf_targets_poll(&s->processes);
	}
	ebpf_resync(&s->resync, &s->processes, handled);
	read_throttles(s);
	cpu_events_jitter(s->events, now);
	if (s->kernel.waiting)
		waiting_side_poll(s->kernel.waiting, now);
	ebpf_drain_end(s->drain);
	if (now >= s->limits_ns) {
		tell_limits(s, sink);
		s->limits_ns = now + LIMITS_NS;
	}
	return targets_live(s->targets) && members_live(s->members);
}

static void source_stop(struct source *s, struct sink *sink)
{
	cpu_events_disable(s->events);
	counted_events_stop(s->counted);
	counted_events_report(s->counted);
	counted_events_tell(s->counted, sink);
	if (s->kernel.waiting)
		waiting_side_stop(s->kernel.waiting);
	if (s->kernel.syscalls)
		syscalls_side_stop(s->kernel.syscalls);
	kernel_side_report_unreadable(&s->kernel);
	read_throttles(s);
	ebpf_drain_begin(s->drain, sink, monotonic_ns() + LAST_UNWIND_NS);
	drain_rings(s, UINT64_MAX);
	if (s->kernel.waiting) {
		waiting_side_tell(s->kernel.waiting, ebpf_drain_queue_record, s->drain);
		ring_buffer__consume(s->ring); /* threads that have ended meanwhile */
		ebpf_drain_handle(s->drain, UINT64_MAX);
	}
	ebpf_drain_finish(s->drain);
	ebpf_drain_end(s->drain);
	tell_limits(s, sink);
}

/* Threads come before the ring, which may hold the end of one of them. */
static void source_tell_sums(struct source *s, struct sink *sink)
{
	uint64_t now;

	ebpf_drain_begin(s->drain, sink, monotonic_ns() + UNWIND_NS);
	if (s->kernel.waiting) {
		waiting_side_tell_times(s->kernel.waiting, ebpf_drain_queue_record, s->drain);
		now = monotonic_ns();
		settle();
		drain_rings(s, now);
	}
	ebpf_drain_tell_sums(s->drain);
	ebpf_drain_end(s->drain);
}

static void source_turn(struct source *s, bool forget)
{
	file_table_turn(s->files.table, forget);
	ebpf_drain_turn(s->drain, forget);
}

/* A sample between the two steps weighs too little rather than too much. */
static int source_set_rate(struct source *s, uint32_t freq_hz)
{
	uint64_t before_ns = cpu_events_period_ns(s->events), ns = 1000000000u / freq_hz;
	int err;

	if (ns < before_ns)
		kernel_side_set_weight(&s->kernel, ns);
	err = cpu_events_set_rate(s->events, freq_hz);
	kernel_side_set_weight(&s->kernel, ns);
	return err;
}

static int source_kernel_cost(const struct source *s, uint64_t *ret_ns)
{
	return kernel_side_cost(&s->kernel, ret_ns);
}

static uint64_t source_kernel_memory(const struct source *s)
{
	return kernel_side_memory(&s->kernel) + sideband_memory(s->sideband);
}

static void source_stats(const struct source *s, struct profile_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->nr_rows += s->files.nr_rows;
	ret_stats->nr_lost += kernel_side_counter(&s->kernel, COUNTER_LOST);
	ret_stats->nr_limits += limits_total(&s->limits);
}

static const char *source_event(const struct source *s)
{
	if (s->has_clock)
		return cpu_events_name(s->events);
	return s->counted ? counted_events_first(s->counted) : "sched_switch";
}

static int source_open_module(void *context, uint32_t module)
{
	const struct source *s = context;

	return file_table_open_module(s->files.table, module);
}

static int source_open_root(void *context, uint32_t module, size_t *ret_prefix)
{
	const struct source *s = context;

	return file_table_open_root(s->files.table, module, ret_prefix);
}

int source_ebpf_kernel_symbol(const struct source *s, uint64_t address, char *name, size_t size)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err = kernel_side_symbol(&s->kernel, address, name, size);

	privileges_use(before);
	return err;
}

/* From the top down: each part is freed before what it uses. */
static void source_close(struct source *s)
{
	if (!s)
		return;
	cpu_events_free(s->events);
	counted_events_free(s->counted);
	sideband_close(s->sideband);
	ring_buffer__free(s->ring);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	ebpf_drain_free(s->drain);
	ebpf_snapshots_free(s->snapshots);
	ebpf_targets_fini(&s->processes);
	ebpf_pythons_free(s->pythons);
	ebpf_files_fini(&s->files);
	kernel_side_fini(&s->kernel);
	targets_free(s->targets);
	members_free(s->members);
	limits_fini(&s->limits);
	free(s);
}

const struct source_ops source_ebpf = {
	.name = "ebpf",
	.help = "perf events and BPF: any program, no frame pointers needed, least cost",
	/* More memory for unwind rows takes BPF rights. */
	.privileges = PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_PERFMON) | PRIVILEGE(CAP_BPF),
	.probe = ebpf_probe,
	.fit = ebpf_fit,
	.open = source_open,
	.await_tables = source_await_tables,
	.start = source_start,
	.drain = source_drain,
	.waits_long = true,
	.stop = source_stop,
	.tell_sums = source_tell_sums,
	.turn = source_turn,
	.set_rate = source_set_rate,
	.kernel_cost = source_kernel_cost,
	.kernel_memory = source_kernel_memory,
	.stats = source_stats,
	.event = source_event,
	.open_module = source_open_module,
	.open_root = source_open_root,
	.close = source_close,
};
