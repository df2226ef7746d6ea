/*
 * Inside the eBPF source: what its files share. source_ebpf.c opens and drives it, ebpf_targets.c
 * keeps the kernel side's picture of processes and code right, publish_mappings.c writes down what lies
 * where in a process, ebpf_drain.c turns records into samples.
 */
#ifndef SPROF_EBPF_H
#define SPROF_EBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/source.h"
#include "sampler/ebpf/arena.h"
#include "sampler/target/mapped_file.h"
#include "sampler/sink/time_order.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/target/process.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/target/sideband.h"
#include "sampler/sink/stack_ids.h"
#include "sampler/walk/table_builder.h"

struct cpu_events;
struct ebpf_pythons;
struct python_codes;
struct python_stack;
struct sprof_bpf;
struct ring_buffer;
struct snapshot_unwinder;
struct targets;

enum source_limit {
	LIMIT_MODULES,
	LIMIT_ROWS,
	LIMIT_MAPS,
	LIMIT_MEMORY,
	LIMIT_PROCESSES,
	LIMIT_FILES,
	LIMIT_PYTHONS,
	NR_SOURCE_LIMITS
};

/* A region of the arena that holds a published map table; forked children share it. */
struct map_region {
	uint32_t index, nr;
	uint32_t table; /* its number: no other has had it */
	uint32_t nr_users;
};

/* What the kernel side is told of a process. */
struct ebpf_process {
	struct process process; /* first: the others know it by this */
	uint32_t exec_id;	/* as the kernel side compares it */
	struct map_region *region;
	uint32_t python;       /* the interpreter's place in the pythons map; 0 = none is mapped */
	uint32_t nr_snapshots; /* since then: */
	uint64_t allowed_ns;   /* when the kernel side was last allowed its snapshots */
};

static inline struct ebpf_process *ebpf_own(const struct process *p)
{
	return (struct ebpf_process *)p;
}

struct retired_region {
	uint64_t free_at_ns;
	uint32_t index, nr;
};

struct source {
	/* the kernel side */
	struct sprof_bpf *skel;
	struct ring_buffer *ring;
	struct cpu_events *events;
	int epoll_fd;
	struct sideband *sideband;
	/* what the kernel side reads */
	struct arena *arena;
	struct module_entry *modules;
	struct walk_rule *rules;
	uint64_t *stack_slots;
	struct code_slot *code_slots;
	struct table_builder *builder;
	struct runtime_unwind *jit;
	struct retired_region *retired;
	size_t nr_retired, retired_capacity;
	uint32_t nr_tables; /* map tables published, which gives each its number */
	/* what the recorder knows */
	struct file_table *codes;
	struct process *processes;
	bool system_wide, adds_probes;
	struct targets *targets;
	struct time_order *queue;
	struct snapshot_unwinder *unwinder; /* made when the first snapshot comes */
	const struct process *unwinding;    /* the process whose snapshot it has in hand, */
	uint64_t unwinding_ns;		    /* and when that was taken */
	uint64_t unwind_until_ns;	    /* later snapshots of this round keep only their leaf */
	struct ebpf_pythons *pythons;	    /* NULL: Python frames are not wanted */
	struct python_codes *python_codes;
	struct python_stack *python_stack; /* of the snapshot that comes next; made when needed */
	/* the way to the sink */
	struct sample_sink out;
	struct stack_ids *keys;
	struct sample_event *waiting; /* samples whose stack has not come yet */
	size_t nr_waiting, waiting_capacity;
	struct profile_stats stats;
	bool limit_warned[NR_SOURCE_LIMITS];
	uint64_t nr_events_lost;	   /* forks, execs and exits, when we last looked */
	uint64_t resync_due_ns, resync_ns; /* 0: nothing is due; when it was done last */
	uint64_t next_room_ns;		   /* when to look for unused code again */
};

/* ebpf_targets.c */

/* The rows of code that was made at run time, among the kernel side's. */
extern const struct runtime_ops ebpf_runtime_ops;

/* Counts a limit that was hit, and says so the first time. */
void ebpf_limit(struct source *s, enum source_limit limit, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The process, made known with the mappings it has now if it was not. 0, or the -errno of reading
 * those (-ESRCH: it has ended) and *ret_process NULL.
 */
int ebpf_process(struct source *s, pid_t pid, uint32_t exec_id, struct process **ret_process);
/* The process if it is known. */
struct process *ebpf_find_process(struct source *s, pid_t pid);
/* Has the rows of a file built before anything maps it; `source` is a struct source. */
void ebpf_expect_file(void *source, const char *path);
void ebpf_on_fork(struct source *s, const struct fork_event *e);
void ebpf_on_exec(struct source *s, const struct exec_event *e);
void ebpf_on_exit(struct source *s, const struct exit_event *e);
void ebpf_on_sideband(struct source *s, const struct sideband_record *r);
/* Reads the mappings of a process again unless that was done a moment ago. */
void ebpf_reread(struct source *s, struct process *p);
/* After a round of events: finished tables in, changed map tables out, ended processes away. */
void ebpf_publish(struct source *s);
void ebpf_free_processes(struct source *s);

/* publish_mappings.c */

/* Tells the kernel side which table a process has. */
void ebpf_write_entry(struct source *s, struct process *p);
/* Makes a new table of the mappings that the process has now. */
void ebpf_publish_maps(struct source *s, struct process *p);
/* One user less of a table; without any it can be had again a while later. NULL is fine. */
void ebpf_retire(struct source *s, struct map_region *region);
void ebpf_free_retired(struct source *s, uint64_t now_ns);
/*
 * The kernel side stops sending snapshots of a process after a while. Where they serve, because hot
 * code has rules that only libunwind understands, it may go on at a bounded rate.
 */
void ebpf_allow_snapshots(struct source *s, struct process *p, uint64_t now_ns);

/* resync.c */

/*
 * `nr_lost` events so far: if there are new ones, finds out what they were, once the queue has been
 * handled (up to `handled_ns`) as far as they reach. Once a second at most.
 */
void ebpf_resync(struct source *s, uint64_t nr_lost, uint64_t handled_ns);
/* A sample says which image of the program runs: the exec that led to it may have been missed. */
void ebpf_saw_image(struct source *s, struct process *p, uint32_t exec_id);

/* ebpf_drain.c */

/* Handles everything older than before_ns; returns how many records wait for the next round. */
size_t ebpf_handle_events(struct source *s, uint64_t before_ns);
/* Callbacks that queue what the rings hold; context is the source. */
int ebpf_queue_ring_record(void *context, void *data, size_t size);
void ebpf_queue_sideband(void *context, const struct sideband_record *r);

#endif
