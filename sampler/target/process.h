/*
 * A sampled process and its executable mappings, as of the event that is being handled. Sources
 * feed it in the order of time: /proc/PID/maps at first, then fork, exec, mmap and exit events.
 * What only one source keeps of a process is in a struct of that source.
 */
#ifndef SPROF_PROCESS_H
#define SPROF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/hash_table.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/runtime_regions.h"

struct mapping {
	uint64_t start, end, pgoff;
	struct mapped_file *code;
	bool stack; /* the first thread's stack: it may be executable but has no runtime code */
	uint64_t absent_ns; /* when process_prune() first missed it; 0: it did not */
};

/* The last look of process_prune(). */
struct process_look {
	uint64_t time_ns, cost_ns;
	size_t nr_maps; /* after it */
	size_t nr_absent;
};

/* A process has at most so many mappings here: later ones are left out, and counted. */
#define PROCESS_MAX_MAPS (2 * WALK_MAX_MAPS)

/* File text that anonymous memory was mapped over, perhaps as a copy of it. */
struct covered_text {
	struct mapping text;
	uint32_t nr_checks; /* that found no copy */
};

/* At most so many of them are remembered: the rest stays runtime code. */
#define PROCESS_MAX_COVERED 32

struct process {
	pid_t pid;
	uint32_t user;	/* who is charged for what it maps (sampler/selection/process_user.h) */
	uint32_t epoch; /* changes when an address changes its meaning; unique to this process */
	struct mapping *maps; /* sorted, disjoint */
	size_t nr_maps, capacity;
	bool has_too_many; /* mappings were left out */
	bool dirty;	   /* maps differ from what is published */
	bool exec_pending; /* an exec has begun: the new program's mappings are arriving */
	/* Disjoint, oldest first. */
	struct covered_text *covered;
	size_t nr_covered, covered_capacity;
	struct runtime_regions runtime; /* of runtime code */
	uint64_t ended_ns;		/* 0 = running */
	uint64_t read_ns;		/* when /proc/PID/maps was last read */
	uint64_t read_cost_ns;		/* how long that took */
	bool wants_reading;		/* as soon as it is due again */
	uint64_t known_ns;		/* when its maps were first read; 0: its fork was seen */
	struct process_look look;
	UT_hash_handle hh;
};

/* To be called for a new process too: another one may have had its pid. */
void process_new_epoch(struct process *process);
/* Adds a mapping, which replaces what it covers; a new epoch if an address changes its meaning. */
void process_map(struct process *process, const struct mapping *mapping);
/* Forgets all mappings (exec). */
void process_unmap_all(struct process *process);
/*
 * To be called now and then: maps covered text again where the memory over it turns out to be a
 * copy. Gives each up after some tries.
 */
void process_check_covered(struct process *process);
/* The mapping that contains an address, or NULL. */
const struct mapping *process_find(const struct process *process, uint64_t address);
/* The address of ELF virtual address 0 of the mapped file; of its offset 0 if it is not ELF. */
uint64_t mapping_bias(const struct mapping *mapping);
bool process_same_maps(const struct process *a, const struct process *b);

void process_fini(struct process *process);

#endif
