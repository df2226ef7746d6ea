/*
 * What the ebpf source knows of a process: its mappings as of the event being handled, and what the
 * kernel side was last told of it. Each group of fields is written by the file that is named above
 * it.
 */
#ifndef SPROF_EBPF_PROCESS_H
#define SPROF_EBPF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/process.h"

struct map_region;

struct ebpf_process {
	struct process process; /* first: ebpf_own() relies on it */
	/* ebpf_targets.c and resync.c */
	uint32_t exec_id; /* the image of the program, as the kernel side compares it */
	/* publish_mappings.c */
	struct map_region *region; /* NULL: nothing is published */
	uint64_t allowed_ns;	   /* when the kernel side was last allowed more snapshots */
	/* ebpf_python.c */
	uint32_t python; /* the interpreter's place in the pythons map; 0: runs no Python */
	/* ebpf_drain.c */
	uint32_t nr_snapshots;	/* since allowed_ns */
	uint64_t late_until_ns; /* snapshots of it may wait until then */
	/* ebpf_targets.c: in the list of those that the next poll looks at */
	bool attended;
	struct ebpf_process *prev, *next;
};

/* The processes of this source are all struct ebpf_process. */
static inline struct ebpf_process *ebpf_own(const struct process *p)
{
	return (struct ebpf_process *)p;
}

#endif
