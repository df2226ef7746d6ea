/* The eBPF source: loads the BPF program, opens an event per CPU, and drains the rings. */
#include "sampler/ebpf/source_ebpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/ebpf/cpu_events.h"
#include "sampler/ebpf/ebpf.h"
#include "sampler/ebpf/ebpf_probe.h"
#include "sampler/ebpf/ebpf_python.h"
#include "sampler/ebpf/prefetch_rows.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/ebpf/percpu_map.h"
#include "core/base/privileges.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/target/targets.h"

#define SYSTEM_WIDE_PROCESSES 65536
/* Of pages that count as ours, twice: the ring is mapped two times in a row. */
#define RING_BYTES (4u << 20)
#define SYSTEM_WIDE_RING_BYTES (16u << 20)
/* A record is visible to us at the latest this long after the time in it. */
#define SETTLE_NS (1000ull * 1000)
#define SETTLE_MS 2
/*
 * Unwinding a snapshot can cost a millisecond, and a burst of new processes brings thousands: they
 * get a share of each round, so that the rings are emptied in time and the end comes when it should.
 */
#define UNWIND_NS (300ull * 1000 * 1000)
#define LAST_UNWIND_NS (1000ull * 1000 * 1000)
#define STEP_NS 50 /* measured: one frame in BPF */
#define MIN_STEPS 1024
#define NR_MODULES (WALK_MAX_MODULES + WALK_MAX_RUNTIME_TABLES)

static void *map_array(const struct bpf_map *map, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * How deep a stack is walked to find its root: as far as the time between two samples allows, so
 * that a runaway recursion is not slowed down by more than about a third.
 */
static uint32_t max_steps(uint64_t period_ns)
{
	uint64_t steps = period_ns / 3 / STEP_NS;

	return steps < MIN_STEPS ? MIN_STEPS : steps > MAX_STEPS ? MAX_STEPS : (uint32_t)steps;
}

static int load(struct source *s)
{
	uint32_t ring_bytes = s->system_wide ? SYSTEM_WIDE_RING_BYTES : RING_BYTES;
	int err;

	libbpf_set_print(ebpf_print_libbpf);
	s->skel = sprof_bpf__open();
	if (!s->skel)
		return -errno;
	s->skel->rodata->system_wide = s->system_wide;
	s->skel->rodata->fixed_weight_ns = cpu_events_fixed_weight_ns(s->events);
	if (s->system_wide)
		bpf_map__set_max_entries(s->skel->maps.processes, SYSTEM_WIDE_PROCESSES);
	s->skel->rodata->max_steps = max_steps(cpu_events_period_ns(s->events));
	bpf_map__set_max_entries(s->skel->maps.ring, ring_bytes);
	bpf_map__set_max_entries(s->skel->maps.snapshots, (uint32_t)libbpf_num_possible_cpus());
	bpf_map__set_max_entries(s->skel->maps.code_buffers, (uint32_t)libbpf_num_possible_cpus());
	s->skel->rodata->wakeup_bytes = ring_bytes / 4;
	err = sprof_bpf__load(s->skel);
	if (err)
		return err;
	s->modules = map_array(s->skel->maps.modules, NR_MODULES * sizeof(*s->modules));
	s->rules = map_array(s->skel->maps.rules, WALK_NR_RULES * sizeof(*s->rules));
	s->stack_slots =
		map_array(s->skel->maps.stack_slots, STACK_SLOTS * sizeof(*s->stack_slots));
	s->code_slots = map_array(s->skel->maps.code_slots, CODE_SLOTS * sizeof(*s->code_slots));
	if (!s->modules || !s->rules || !s->stack_slots || !s->code_slots)
		return -ENOMEM;
	s->arena = arena_new(bpf_map__fd(s->skel->maps.arena));
	s->ring =
		ring_buffer__new(bpf_map__fd(s->skel->maps.ring), ebpf_queue_ring_record, s, NULL);
	return s->ring ? 0 : -errno;
}

static int open_epoll(struct source *s)
{
	struct epoll_event e = { .events = EPOLLIN };

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(s->ring), &e) ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, table_builder_event_fd(s->builder), &e))
		return -errno;
	return sideband_add_to_epoll(s->sideband, s->epoll_fd);
}

static int add_target(struct source *s, pid_t id)
{
	struct process *p;
	pid_t pid = id;
	int err = targets_add(s->targets, id, &pid);

	if (!err)
		err = ebpf_process(s, pid, EXEC_ID_ANY, &p);
	if (!err && pid != id)
		log_info("%d is a thread of process %d, which is sampled", (int)id, (int)pid);
	if (err)
		log_error(-err, "attach to process %d", (int)id);
	if (err == -EACCES || err == -EPERM)
		log_hint("its memory map is closed to you: run sprof as its user or with sudo");
	if (err == -ESRCH)
		log_hint("it may have ended: pgrep -l NAME lists what runs");
	return err;
}

static int add_targets(struct source *s, const struct source_config *config)
{
	struct process *p;
	int err = config->launched ? ebpf_process(s, config->launched, EXEC_ID_ANY, &p) : 0;

	if (err)
		log_error(-err, "attach to '%s'", config->program ? config->program : "program");
	if (config->program)
		prefetch_files(config->program, ebpf_expect_file, s);
	for (size_t i = 0; i < config->nr_pids && !err; i++)
		err = add_target(s, config->pids[i]);
	return err;
}

static void source_close(struct source *s);

static int source_open(const struct source_config *config, struct source **ret)
{
	struct source *s = xcalloc(1, sizeof(*s));
	const char *what = "load the BPF program";
	int err;

	s->epoll_fd = -1;
	s->system_wide = config->system_wide;
	s->adds_probes = config->adds_probes;
	sample_sink_init(&s->out, &s->stats);
	s->targets = targets_new();
	s->codes = file_table_new();
	s->keys = stack_ids_new();
	s->queue = time_order_new();
	s->python_codes = s->out.python_codes = python_codes_new();
	file_table_raise_limit();
	err = cpu_events_new(config->event, config->freq_hz, &s->events);
	if (err) {
		log_error(0, "sample cycles: this host has no hardware counters");
		log_hint("use -e cpu-clock");
		source_close(s);
		return err;
	}
	err = load(s);
	if (!err && !config->no_python)
		s->pythons = ebpf_pythons_new(bpf_map__fd(s->skel->maps.pythons));
	if (!err) {
		s->builder = table_builder_new(s->rules, WALK_NR_RULES);
		s->jit = runtime_unwind_new(s->builder, WALK_MAX_MODULES, s->rules,
					    &ebpf_runtime_ops, s);
		what = "open perf events";
		err = sideband_open(&s->sideband);
	}
	if (!err)
		err = cpu_events_open(s->events, bpf_program__fd(s->skel->progs.on_sample));
	if (!err)
		err = open_epoll(s);
	if (!err) {
		what = "attach to fork, exec and exit";
		err = sprof_bpf__attach(s->skel);
	}
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

static int source_start(struct source *s)
{
	int err = cpu_events_enable(s->events);

	if (err)
		log_error(-err, "start sampling");
	else
		privileges_reduce(s->adds_probes);
	return err;
}

static uint64_t read_counter(const struct source *s, uint32_t which)
{
	return percpu_map_sum(bpf_map__fd(s->skel->maps.counters), which);
}

/* Empties the rings and handles what is old enough to be in order. */
static size_t drain_rings(struct source *s, uint64_t before_ns)
{
	sideband_read(s->sideband, ebpf_queue_sideband, s);
	ring_buffer__consume(s->ring);
	return ebpf_handle_events(s, before_ns);
}

static int source_drain(struct source *s, struct sink *sink, int timeout_ms)
{
	struct epoll_event events[16];
	uint64_t now, handled;
	size_t left;

	timeout_ms = runtime_unwind_timeout_ms(s->jit, timeout_ms);
	if (epoll_wait(s->epoll_fd, events, 16, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	s->out.sink = sink;
	now = monotonic_ns();
	s->unwind_until_ns = now + UNWIND_NS;
	handled = now - SETTLE_NS;
	left = drain_rings(s, handled);
	ebpf_publish(s);
	if (left) {
		struct timespec settle = { .tv_nsec = SETTLE_MS * 1000000l };

		nanosleep(&settle, NULL);
		handled = now;
		ebpf_handle_events(s, handled);
		ebpf_publish(s);
	}
	ebpf_resync(s, read_counter(s, COUNTER_EVENTS_LOST), handled);
	s->stats.nr_throttled += cpu_events_read_throttles(s->events);
	cpu_events_jitter(s->events, now);
	s->out.sink = NULL;
	return targets_live(s->targets);
}

static void source_stop(struct source *s, struct sink *sink)
{
	cpu_events_disable(s->events);
	s->stats.nr_throttled += cpu_events_read_throttles(s->events);
	s->out.sink = sink;
	s->unwind_until_ns = monotonic_ns() + LAST_UNWIND_NS;
	drain_rings(s, UINT64_MAX);
	s->out.sink = NULL;
}

static void source_stats(const struct source *s, struct profile_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->nr_lost += read_counter(s, COUNTER_LOST);
	ret_stats->nr_limits += read_counter(s, COUNTER_FORKS_DROPPED);
}

static const char *source_event(const struct source *s)
{
	return cpu_events_name(s->events);
}

static int source_open_module(void *context, uint32_t module)
{
	const struct source *s = context;

	return file_table_open_module(s->codes, module);
}

static int source_kernel_symbol(void *context, uint64_t address, char *name, size_t size)
{
	const struct source *s = context;
	int map = bpf_map__fd(s->skel->maps.kernel_name);
	struct kernel_name question = { .address = address };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	uint32_t zero = 0;

	if (bpf_map_update_elem(map, &zero, &question, BPF_ANY) ||
	    bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.name_kernel_address), &opts) ||
	    bpf_map_lookup_elem(map, &zero, &question))
		return -errno;
	question.name[sizeof(question.name) - 1] = '\0';
	/* An address that it does not know comes back as a number. */
	if (!strncmp(question.name, "0x", 2) || !question.name[0])
		return -ENOENT;
	snprintf(name, size, "%s", question.name);
	return 0;
}

static void unmap(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

static void source_close(struct source *s)
{
	if (!s)
		return;
	cpu_events_free(s->events);
	table_builder_free(s->builder); /* writes rules: before they are unmapped */
	ring_buffer__free(s->ring);
	arena_free(s->arena);
	unmap(s->modules, NR_MODULES * sizeof(*s->modules));
	unmap(s->rules, WALK_NR_RULES * sizeof(*s->rules));
	unmap(s->stack_slots, STACK_SLOTS * sizeof(*s->stack_slots));
	unmap(s->code_slots, CODE_SLOTS * sizeof(*s->code_slots));
	ebpf_pythons_free(s->pythons);
	sprof_bpf__destroy(s->skel);
	sideband_close(s->sideband);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	ebpf_free_processes(s);
	runtime_unwind_free(s->jit);	     /* the processes have its rows */
	snapshot_unwinder_free(s->unwinder); /* reads the files of the code table */
	file_table_free(s->codes);
	stack_ids_free(s->keys);
	python_codes_free(s->python_codes);
	free(s->python_stack);
	time_order_free(s->queue);
	sample_sink_fini(&s->out);
	free(s->waiting);
	targets_free(s->targets);
	free(s);
}

const struct source_ops source_ebpf = {
	.name = "ebpf",
	.help = "perf events and BPF: any program, no frame pointers needed, least cost",
	.probe = ebpf_probe,
	.open = source_open,
	.start = source_start,
	.drain = source_drain,
	.stop = source_stop,
	.stats = source_stats,
	.event = source_event,
	.open_module = source_open_module,
	.kernel_symbol = source_kernel_symbol,
	.close = source_close,
};
