/*
 * Loads the BPF program through its libbpf skeleton. Sizes that depend on this host or on the
 * options (rings, tables of processes, per-CPU buffers) are set between open and load.
 */
#include "sampler/ebpf/kernel_side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/cpus.h"
#include "core/base/proc_status.h"
#include "core/rights/memory_shares.h"
#include "core/profile/source.h"
#include "core/rights/privileges.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/ebpf/arena.h"
#include "sampler/ebpf/ebpf_probe.h"
#include "sampler/events/percpu_map.h"
#include "sampler/selection/cgroups.h"
#include "sampler/sink/limits.h"
#include "sampler/target/sideband.h"
#include "sampler/waiting/program_cost.h"
#include "sampler/waiting/syscalls_side.h"
#include "sampler/waiting/waiting_side.h"

#define SYSTEM_WIDE_PROCESSES 65536
#define RING_BYTES (4u << 20)
#define MAX_RING_BYTES (16u << 20)
/* Of a sample and its stack; a recorder that comes a second late finds all of them in the ring. */
#define SAMPLE_BYTES 4096u
/* The table of SYSTEM_WIDE_PROCESSES takes 7 MB, which may be a twentieth of a limit. */
#define MANY_PROCESSES_BYTES (140ull << 20)
/* What a sample may take; the last things that it does come on top: at most 50 us. */
#define MAX_WALK_NS 150000
#define MIN_WALK_NS 50000

static void *map_array(const struct bpf_map *map, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

/*
 * How long a stack is walked to find its root: as long as the time between two samples allows, so
 * that a runaway recursion is not slowed down by more than about a third.
 */
static uint64_t walk_ns(uint64_t period_ns)
{
	uint64_t ns = period_ns / 3;

	return ns < MIN_WALK_NS ? MIN_WALK_NS : ns > MAX_WALK_NS ? MAX_WALK_NS : ns;
}

_Static_assert(SOURCE_MAX_CGROUPS <= MAX_CGROUPS, "the map holds all that can be asked for");

/* The map holds the cgroups, not the descriptors. */
static int set_cgroups(struct kernel_side *k, const struct source_config *config)
{
	int map = bpf_map__fd(k->skel->maps.cgroups);

	for (uint32_t i = 0; i < config->nr_cgroups; i++) {
		int fd = cgroup_open(config->cgroups[i]), err = fd < 0 ? fd : 0;

		if (!err && bpf_map_update_elem(map, &i, &fd, BPF_ANY))
			err = -errno;
		if (fd >= 0)
			close(fd);
		if (err)
			return err;
	}
	return 0;
}

static uint64_t maps_bytes(const struct kernel_side *k)
{
	uint64_t bytes = program_memory_bytes(k->skel->obj, NULL);

	if (k->waiting)
		bytes += waiting_side_memory_bytes(k->waiting, k->skel->obj);
	if (k->syscalls)
		bytes += syscalls_side_memory_bytes(k->syscalls, k->skel->obj);
	return bytes;
}

/* -EOPNOTSUPP, reported: this kernel does not lead from a thread to its CPU's run queue. */
static int find_run_queues(struct kernel_side *k)
{
	int program = bpf_program__fd(k->skel->progs.find_run_queue);
	int map = bpf_map__fd(k->skel->maps.run_queues);
	size_t nr_cpus = 0;
	int *cpus = NULL, err = cpus_online(&cpus, &nr_cpus);

	for (size_t i = 0; i < nr_cpus && !err; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU,
			    .cpu = (uint32_t)cpus[i]);
		uint32_t cpu = (uint32_t)cpus[i];
		uint64_t queue = 0;

		if (cpu >= MAX_CPUS)
			break;
		if (bpf_prog_test_run_opts(program, &opts) && errno != ENXIO) /* it went offline */
			err = -errno;
		else if (bpf_map_lookup_elem(map, &cpu, &queue) || !queue)
			err = -EOPNOTSUPP;
	}
	free(cpus);
	return err;
}

/* All CPUs may be sampled, at the greatest rate, and all waits and system calls of the machine. */
static uint32_t system_wide_ring(const struct source_config *config)
{
	uint32_t freq_hz =
		config->max_freq_hz > config->freq_hz ? config->max_freq_hz : config->freq_hz;
	uint64_t needed = (uint64_t)libbpf_num_possible_cpus() * freq_hz * SAMPLE_BYTES;
	uint32_t bytes = RING_BYTES;

	if (config->clock != CLOCK_CPU || config->syscalls || config->events)
		return MAX_RING_BYTES;
	while (bytes < needed && bytes < MAX_RING_BYTES)
		bytes *= 2;
	return bytes;
}

static uint32_t ring_bytes_of(const struct source_config *config)
{
	uint32_t bytes = config->system_wide ? system_wide_ring(config) : RING_BYTES;

	return config->memory && config->memory->ring_bytes < bytes ? config->memory->ring_bytes
								    : bytes;
}

/* A table for all processes that there can be, up to a limit. */
static uint32_t system_wide_processes(void)
{
	char text[32];
	uint64_t most = SYSTEM_WIDE_PROCESSES;

	if (!proc_text(text, sizeof(text), "/proc/sys/kernel/pid_max"))
		most = strtoull(text, NULL, 10);
	return most && most < SYSTEM_WIDE_PROCESSES ? (uint32_t)most : SYSTEM_WIDE_PROCESSES;
}

/* What the limit leaves for rows, beside all that exists by now. 0, or -E2BIG, reported. */
static int make_arena(struct kernel_side *k, const struct memory_shares *memory)
{
	const uint64_t shard = ARENA_SHARD_WORDS * sizeof(uint32_t);
	uint64_t own = memory_own_bytes(), rows;

	own += (uint64_t)libbpf_num_possible_cpus() * SIDEBAND_RING_BYTES;
	k->max_shards = ARENA_MAX_SHARDS;
	if (memory) {
		rows = memory_shares_rows(memory, k->fixed_bytes + own);
		if (rows < shard) {
			log_error(0, "keep within --max-memory: what every recording needs takes "
				     "more here");
			log_hint("--max-memory %uM is enough on this machine",
				 (unsigned int)(((k->fixed_bytes + own + shard) * 2 >> 20) + 1));
			return -E2BIG;
		}
		if (rows / shard < ARENA_MAX_SHARDS)
			k->max_shards = (uint32_t)(rows / shard);
	}
	k->arena = arena_new(bpf_map__fd(k->skel->maps.arena), k->max_shards);
	return 0;
}

int kernel_side_init(struct kernel_side *k, const struct kernel_side_config *kernel)
{
	const struct source_config *config = kernel->source;
	bool waits = config->clock != CLOCK_CPU;
	bool growth = config->events && config->events->growth;
	uint32_t ring_bytes = ring_bytes_of(config);
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();
	int err;

	libbpf_set_print(ebpf_print_libbpf);
	k->latency = config->latency;
	if (config->counts_cost) {
		k->counts_cost = program_cost_begin(&k->cost_fd);
		k->has_cost_fd = k->cost_fd >= 0;
	}
	k->skel = sprof_bpf__open();
	if (!k->skel)
		return -errno;
	k->skel->rodata->system_wide = config->system_wide;
	k->skel->rodata->callers_only = config->callers_only;
	k->skel->rodata->caller_uid = getuid();
	k->skel->rodata->caller_gid = getgid();
	k->skel->rodata->caller_capabilities = privileges_of_caller();
	k->skel->rodata->nr_cgroups = (uint32_t)config->nr_cgroups;
	k->skel->rodata->by_user = config->by_user;
	k->skel->rodata->user = config->user;
	k->skel->rodata->recorder = (uint32_t)getpid();
	k->skel->rodata->no_children = config->no_children;
	kernel_side_set_weight(k, kernel->period_ns);
	k->skel->rodata->walk_ns = walk_ns(kernel->least_period_ns);
	/* The rest is left for the native frames, so that a stack has them too. */
	k->skel->rodata->python_ns = k->skel->rodata->walk_ns / 8 * 7;
	k->skel->rodata->wakeup_bytes = ring_bytes / 4;
	for (size_t i = 0; kernel->tracepoints && i < MAX_EVENTS; i++)
		k->skel->rodata->event_periods[i] = kernel->event_periods[i];
	k->skel->rodata->nr_cpus = nr_cpus;
	bpf_program__set_autoload(k->skel->progs.find_run_queue, config->latency);
	bpf_program__set_autoattach(k->skel->progs.find_run_queue, false);
	bpf_program__set_autoload(k->skel->progs.on_sample, !config->latency);
	bpf_program__set_autoload(k->skel->progs.on_sample_with_others, config->latency);
	bpf_program__set_autoload(k->skel->progs.on_tracepoint, kernel->tracepoints);
	bpf_program__set_autoattach(k->skel->progs.on_tracepoint, false);
	bpf_program__set_autoload(k->skel->progs.on_growth, growth);
	bpf_map__set_autocreate(k->skel->maps.growing, growth);
	if (config->system_wide &&
	    (!config->memory || config->memory->limit >= MANY_PROCESSES_BYTES))
		bpf_map__set_max_entries(k->skel->maps.processes, system_wide_processes());
	bpf_map__set_max_entries(k->skel->maps.ring, ring_bytes);
	bpf_map__set_max_entries(k->skel->maps.states, nr_cpus);
	bpf_map__set_max_entries(k->skel->maps.snapshots, nr_cpus);
	bpf_map__set_max_entries(k->skel->maps.code_buffers, nr_cpus);
	err = sprof_bpf__load(k->skel);
	if (!err && config->latency)
		err = find_run_queues(k);
	if (err)
		return err;
	k->modules = map_array(k->skel->maps.modules, NR_MODULE_ENTRIES * sizeof(*k->modules));
	k->rules = map_array(k->skel->maps.rules, WALK_NR_RULES * sizeof(*k->rules));
	k->stack_slots =
		map_array(k->skel->maps.stack_slots, STACK_SLOTS * sizeof(*k->stack_slots));
	k->code_slots = map_array(k->skel->maps.code_slots, CODE_SLOTS * sizeof(*k->code_slots));
	if (!k->modules || !k->rules || !k->stack_slots || !k->code_slots)
		return -ENOMEM;
	err = set_cgroups(k, config);
	if (err)
		return err;
	if (config->syscalls)
		err = syscalls_side_new(k->skel, config->syscalls_ns, &k->syscalls);
	if (err)
		return err;
	k->wakers = waits && config->wakers;
	if (waits)
		err = waiting_side_new(k->skel, config->wait_period_ns, k->wakers, &k->waiting);
	if (err)
		return err;
	k->fixed_bytes = maps_bytes(k);
	return make_arena(k, config->memory);
}

void kernel_side_fini(struct kernel_side *k)
{
	arena_free(k->arena);
	unmap(k->modules, NR_MODULE_ENTRIES * sizeof(*k->modules));
	unmap(k->rules, WALK_NR_RULES * sizeof(*k->rules));
	unmap(k->stack_slots, STACK_SLOTS * sizeof(*k->stack_slots));
	unmap(k->code_slots, CODE_SLOTS * sizeof(*k->code_slots));
	waiting_side_free(k->waiting);
	syscalls_side_free(k->syscalls);
	sprof_bpf__destroy(k->skel);
	if (k->has_cost_fd)
		close(k->cost_fd);
}

int kernel_side_attach(struct kernel_side *k)
{
	return sprof_bpf__attach(k->skel);
}

void kernel_side_set_weight(struct kernel_side *k, uint64_t ns)
{
	__atomic_store_n(&k->skel->bss->clock_weight_ns, ns, __ATOMIC_RELAXED);
}

struct bpf_program *kernel_side_event_program(const struct kernel_side *k, bool tracepoint)
{
	if (tracepoint)
		return k->skel->progs.on_tracepoint;
	return k->latency ? k->skel->progs.on_sample_with_others : k->skel->progs.on_sample;
}

struct bpf_program *kernel_side_growth_program(const struct kernel_side *k)
{
	return k->skel->progs.on_growth;
}

int kernel_side_sample_program(const struct kernel_side *k)
{
	return bpf_program__fd(kernel_side_event_program(k, false));
}

int kernel_side_ring(const struct kernel_side *k)
{
	return bpf_map__fd(k->skel->maps.ring);
}

int kernel_side_pythons(const struct kernel_side *k)
{
	return bpf_map__fd(k->skel->maps.pythons);
}

void kernel_side_set_module(struct kernel_side *k, uint32_t index, const struct module_entry *entry)
{
	struct module_entry *to = &k->modules[index];
	uint32_t state = entry->state;

	to->base = entry->base;
	to->pages = entry->pages;
	to->nr_pages = entry->nr_pages;
	/* The walker uses the other fields only in a state that needs them: it is written last. */
	__atomic_store_n(&to->state, state, __ATOMIC_RELEASE);
}

void kernel_side_set_no_rows(struct kernel_side *k, uint32_t index)
{
	kernel_side_set_module(k, index, &(struct module_entry){ .state = WALK_MODULE_NO_ROWS });
}

int kernel_side_set_process(struct kernel_side *k, pid_t pid, const struct process_entry *entry)
{
	uint32_t key = (uint32_t)pid;
	int map = bpf_map__fd(k->skel->maps.processes);

	if (bpf_map_update_elem(map, &key, entry, BPF_ANY))
		return -errno;
	if (k->waiting)
		waiting_side_watch(k->waiting, pid);
	return 0;
}

int kernel_side_get_process(const struct kernel_side *k, pid_t pid, struct process_entry *ret)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.processes), &key, ret) ? -errno : 0;
}

void kernel_side_forget_process(struct kernel_side *k, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(k->skel->maps.processes), &key);
}

size_t kernel_side_list_processes(const struct kernel_side *k, uint32_t **ret_pids)
{
	int map = bpf_map__fd(k->skel->maps.processes);
	uint32_t *pids = NULL, key, *before = NULL;
	size_t nr = 0, capacity = 0;

	while (!bpf_map_get_next_key(map, before, &key)) {
		pids = xgrow(pids, &capacity, nr + 1, sizeof(*pids));
		pids[nr++] = key;
		before = &key;
	}
	*ret_pids = pids;
	return nr;
}

void kernel_side_forget_stacks(struct kernel_side *k)
{
	memset(k->stack_slots, 0, STACK_SLOTS * sizeof(*k->stack_slots));
}

void kernel_side_forget_code_objects(struct kernel_side *k)
{
	memset(k->code_slots, 0, CODE_SLOTS * sizeof(*k->code_slots));
}

uint64_t kernel_side_counter(const struct kernel_side *k, uint32_t which)
{
	return percpu_map_sum(bpf_map__fd(k->skel->maps.counters), which);
}

int kernel_side_cost(const struct kernel_side *k, uint64_t *ret_ns)
{
	if (!k->counts_cost)
		return -ENODATA;
	*ret_ns = program_cost_ns(k->skel->obj);
	if (k->waiting)
		*ret_ns += waiting_side_cost_ns(k->waiting);
	if (k->syscalls)
		*ret_ns += syscalls_side_cost_ns(k->syscalls);
	return 0;
}

uint64_t kernel_side_memory(const struct kernel_side *k)
{
	return k->fixed_bytes + arena_bytes(k->arena);
}

uint64_t kernel_side_arena_words(const struct kernel_side *k)
{
	return (uint64_t)k->max_shards * ARENA_SHARD_WORDS;
}

void kernel_side_allow_copies(struct kernel_side *k, int32_t nr, int32_t max)
{
	int32_t *left = &k->skel->bss->copies_left, now = __atomic_load_n(left, __ATOMIC_RELAXED);

	now = now < 0 ? nr : now + nr;
	__atomic_store_n(left, now < max ? now : max, __ATOMIC_RELAXED);
	if (k->waiting)
		waiting_side_allow_copies(k->waiting, nr, max);
}

void kernel_side_set_limits(const struct kernel_side *k, struct limits *limits)
{
	limit_set(limits, LIMIT_CHILDREN, kernel_side_counter(k, COUNTER_FORKS_DROPPED),
		  "more processes than the kernel's table holds: further ones are not sampled");
	limit_set(
		limits, LIMIT_COPIES, kernel_side_counter(k, COUNTER_NOT_COPIED),
		"more than 500 stacks in a second through files without unwind rows: further ones "
		"end there");
}

void kernel_side_report_unreadable(const struct kernel_side *k)
{
	uint64_t nr = kernel_side_counter(k, COUNTER_UNREADABLE);

	if (nr)
		log_warning(
			"%llu programs were not sampled because they run with more rights than you "
			"have (--all-users samples them, too)",
			(unsigned long long)nr);
}

int kernel_side_symbol(const struct kernel_side *k, uint64_t address, char *name, size_t size)
{
	int map = bpf_map__fd(k->skel->maps.kernel_name);
	int program = bpf_program__fd(k->skel->progs.name_kernel_address);
	struct kernel_name question = { .address = address };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	uint32_t zero = 0;

	if (bpf_map_update_elem(map, &zero, &question, BPF_ANY) ||
	    bpf_prog_test_run_opts(program, &opts) || bpf_map_lookup_elem(map, &zero, &question))
		return -errno;
	question.name[sizeof(question.name) - 1] = '\0';
	/* The kernel prints an address that has no symbol as a number. */
	if (!strncmp(question.name, "0x", 2) || !question.name[0])
		return -ENOENT;
	snprintf(name, size, "%s", question.name);
	return 0;
}
