/*
 * The processes being sampled and their executable mappings, as of the event being handled. Fed in
 * time order: /proc/PID/maps at first, then fork, exec, mmap and exit events.
 */
#ifndef SPROF_PROCESS_H
#define SPROF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uthash.h>

#include "sampler/target/mapped_file.h"
#include "sampler/target/runtime_regions.h"

struct mapping {
	uint64_t start, end, pgoff;
	struct mapped_file *code;
	bool stack; /* of the first thread: executable, and no code that is made at run time */
};

struct process {
	pid_t pid;
	uint32_t
		epoch; /* changes when an address changes its meaning; no other process ever has it */
	struct mapping *maps; /* sorted, disjoint */
	size_t nr_maps, capacity;
	bool dirty;	   /* maps differ from what is published */
	bool exec_pending; /* the new image's mappings are arriving */
	/* File text over which anonymous memory was mapped: a copy of it, perhaps. */
	struct mapping *covered;
	size_t nr_covered, covered_capacity;
	uint32_t nr_cover_checks;
	struct runtime_regions jit; /* of code without a file */
	uint64_t ended_ns;	    /* 0 = lives */
	uint64_t read_ns;	    /* when /proc/PID/maps was last read */
	uint64_t known_ns;	    /* when it was first read; 0: made by a fork that was seen */
	UT_hash_handle hh;
};

/* To be called when a process becomes known: another may have had its pid. */
void process_new_epoch(struct process *process);
/* Adds a mapping over whatever it covers. A new epoch if an address changes its meaning. */
void process_map(struct process *process, const struct mapping *mapping);
/* Forgets all mappings (exec). */
void process_unmap_all(struct process *process);
/*
 * Restores the meaning of covered text whose copy turns out to be the same; to be called now and
 * then. Gives up after some tries.
 */
void process_check_covered(struct process *process);
/* The mapping that contains an address, or NULL. */
const struct mapping *process_find(const struct process *process, uint64_t address);
/* Where the module's address 0 lies; of what is no ELF file, where its offset 0 does. */
uint64_t mapping_bias(const struct mapping *mapping);
bool process_same_maps(const struct process *a, const struct process *b);

void process_fini(struct process *process);

#endif
