/*
 * The kernel side: the loaded BPF program, and its maps as the recorder reads and writes them. All
 * other files of the room reach the BPF program through this one. Maps that the recorder writes
 * often are mapped into its memory; the rest is reached by system calls.
 */
#ifndef SPROF_KERNEL_SIDE_H
#define SPROF_KERNEL_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/bpf/events.h"

#define NR_MODULE_ENTRIES (WALK_MAX_MODULES + WALK_MAX_RUNTIME_TABLES)

struct arena;
struct bpf_program;
struct limits;
struct source_config;
struct sprof_bpf;
struct syscalls_side;
struct waiting_side;
struct walk_rule;

struct kernel_side {
	struct sprof_bpf *skel;
	struct waiting_side *waiting; /* NULL: waits are not followed */
	bool wakers;		      /* and so are those that wake */
	bool latency;		      /* threads that run at a tick are counted */
	bool counts_cost;	      /* the kernel counts what the programs cost, */
	bool has_cost_fd;
	int cost_fd;			/* as long as this is open */
	struct syscalls_side *syscalls; /* NULL: they are not counted */
	uint64_t fixed_bytes;		/* of all maps but the arena */
	uint32_t max_shards;		/* of the arena */
	struct arena *arena;
	struct module_entry *modules; /* NR_MODULE_ENTRIES: mapped files, then runtime code */
	struct walk_rule *rules;      /* WALK_NR_RULES */
	uint64_t *stack_slots;
	struct code_slot *code_slots;
};

struct kernel_side_config {
	const struct source_config *source;
	const uint64_t *event_periods; /* of tracepoints, MAX_EVENTS */
	bool tracepoints;	       /* some of the events are such */
	uint64_t period_ns;	       /* between two samples of a CPU, as it is at first */
	uint64_t least_period_ns;      /* that is set later; at most period_ns */
};

/*
 * Loads the program and maps its maps; attaches nothing. 0 or -errno; -E2BIG, reported: the memory
 * that it may have is not enough for any unwind rows. kernel_side_fini() is called in either case,
 * on zeros too.
 */
int kernel_side_init(struct kernel_side *k, const struct kernel_side_config *config);
void kernel_side_fini(struct kernel_side *k);
/* Attaches to fork, exec and exit. 0 or -errno. */
int kernel_side_attach(struct kernel_side *k);

/* What all maps take, in bytes, by the kernel's own count. */
uint64_t kernel_side_memory(const struct kernel_side *k);
/* The most words that the arena may have. */
uint64_t kernel_side_arena_words(const struct kernel_side *k);
/* So many more snapshots may be sent of code whose rows take too much memory; `max` may wait. */
void kernel_side_allow_copies(struct kernel_side *k, int32_t nr, int32_t max);

/* What a tick of the clock weighs from now on. */
void kernel_side_set_weight(struct kernel_side *k, uint64_t ns);

/* Descriptors for others to use; they belong to the kernel side. */
int kernel_side_sample_program(const struct kernel_side *k);
/* The programs that events beside the clock run. */
struct bpf_program *kernel_side_event_program(const struct kernel_side *k, bool tracepoint);
/* The program that page faults run, for growth of memory. */
struct bpf_program *kernel_side_growth_program(const struct kernel_side *k);
int kernel_side_ring(const struct kernel_side *k);
int kernel_side_pythons(const struct kernel_side *k);

/* Sets an entry of modules[]; a walk sees the whole entry or the one before. */
void kernel_side_set_module(struct kernel_side *k, uint32_t index,
			    const struct module_entry *entry);
/* Code at that index is walked by frame pointers. */
void kernel_side_set_no_rows(struct kernel_side *k, uint32_t index);

/* The entries of processes. 0 or -errno. */
int kernel_side_set_process(struct kernel_side *k, pid_t pid, const struct process_entry *entry);
int kernel_side_get_process(const struct kernel_side *k, pid_t pid, struct process_entry *ret);
void kernel_side_forget_process(struct kernel_side *k, pid_t pid);
/* The pids of all entries; the caller frees the array. */
size_t kernel_side_list_processes(const struct kernel_side *k, uint32_t **ret_pids);

/* Has every stack, or every code object, sent again when it is next met. */
void kernel_side_forget_stacks(struct kernel_side *k);
void kernel_side_forget_code_objects(struct kernel_side *k);

/* What all programs have cost so far, ns of CPU time. 0, or -ENODATA where it is not counted. */
int kernel_side_cost(const struct kernel_side *k, uint64_t *ret_ns);
/* `which` is an enum counter. */
uint64_t kernel_side_counter(const struct kernel_side *k, uint32_t which);
/* Sets the limits that the programs count. */
void kernel_side_set_limits(const struct kernel_side *k, struct limits *limits);
/* Warns of programs that were left out because the caller may not look at them. */
void kernel_side_report_unreadable(const struct kernel_side *k);
/* The name of a kernel address, as source_ebpf_kernel_symbol(). */
int kernel_side_symbol(const struct kernel_side *k, uint64_t address, char *name, size_t size);

#endif
