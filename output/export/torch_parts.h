/*
 * What goes into which file of a trace for readers of torch.profiler's traces, which hold one
 * process each and tell them apart by their ranks.
 */
#ifndef SPROF_TORCH_PARTS_H
#define SPROF_TORCH_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct torch_part {
	uint32_t pid; /* PROFILE_NONE: everything, because no process used a GPU or NVTX */
	uint64_t rank, nr_ranks;
};

/*
 * Returns a part for each process with GPU work or ranges, in order of rank, to be freed. A process
 * that has no rank, or one that another process has too, gets the lowest number that is free.
 */
struct torch_part *torch_parts(const struct profile *p, size_t *ret_nr);

#endif
