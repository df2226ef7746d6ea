/*
 * The map table of each process, as the kernel side reads it: which code lies at which addresses. A
 * changed table is written to a new region of the arena, never in place; the old region is reused
 * once no walk can still be reading it. Forked children share their parent's region.
 */
#ifndef SPROF_PUBLISH_MAPPINGS_H
#define SPROF_PUBLISH_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebpf_files;
struct limits;
struct kernel_side;
struct process;

struct retired_region {
	uint64_t free_at_ns;
	uint32_t index, nr;
	uint32_t user; /* is charged for it */
};

struct ebpf_publisher {
	struct kernel_side *kernel;
	struct ebpf_files *files;
	struct limits *limits;
	struct retired_region *retired;
	size_t nr_retired, retired_capacity;
	uint32_t nr_tables; /* published so far, which gives each its number */
};

/* All must outlive it. */
void ebpf_publisher_init(struct ebpf_publisher *b, struct kernel_side *kernel,
			 struct ebpf_files *files, struct limits *limits);
void ebpf_publisher_fini(struct ebpf_publisher *b);

/* Writes a new table of the mappings that the process has now, and its entry. */
void ebpf_publish_maps(struct ebpf_publisher *b, struct process *p);
/* Writes the process's entry: its table, its image, its interpreter. */
void ebpf_publish_entry(struct ebpf_publisher *b, const struct process *p);
/* The child gets its parent's table; its entry is written by ebpf_publish_entry(). */
void ebpf_share_maps(struct process *child, const struct process *parent);
/* The process gives up its table, whose region is reused a while after its last user did so. */
void ebpf_retire_maps(struct ebpf_publisher *b, struct process *p);
/* How many entries its table has; 0 without one. */
uint32_t ebpf_nr_published(const struct process *p);
/* Is the process without a table because none has room, not because it is to be written yet? */
bool ebpf_has_no_room(const struct process *p);

/* Once in a round: gives regions back that no walk can be reading any more. */
void ebpf_free_retired(struct ebpf_publisher *b, uint64_t now_ns);
/*
 * The kernel side stops sending snapshots of a process after a while. Where they serve, because hot
 * code has rules that only libunwind understands, it may go on at a bounded rate.
 */
void ebpf_allow_snapshots(struct ebpf_publisher *b, struct process *p, uint64_t now_ns);

#endif
