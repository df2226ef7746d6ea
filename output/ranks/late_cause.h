/*
 * Why a rank came late: what it did before it arrived that the other ranks did not do. The time of
 * each call path before an arrival is compared with the mean of the other ranks' time in the same
 * path before theirs; the path with the excess is the cause. Work that all ranks have in common
 * cancels out, however long it takes.
 */
#ifndef SPROF_LATE_CAUSE_H
#define SPROF_LATE_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct late_causes;
struct ranks;

struct late_step {
	const char *name; /* belongs to the causes */
	uint64_t ns;	  /* more than the other ranks */
	bool in_system;	  /* code of the kernel, the C library, CUDA, NCCL, or without a name */
};

struct late_cause {
	uint64_t late_ns;	 /* sum over the collectives */
	uint64_t host_late_ns;	 /* the part in which the call came late, not the GPU */
	uint64_t found_ns;	 /* excess in samples, or in GPU work */
	struct late_step *steps; /* from the root; none: no excess was found */
	size_t nr_steps;
	/* names of the stack of the worst late call, from the root; none: it is not known */
	const char **call;
	size_t nr_call;
	size_t nr_own_call; /* without what is in_system at its end */
};

struct late_causes *late_causes_new(const struct ranks *r);
void late_causes_free(struct late_causes *causes); /* NULL is fine */

/*
 * The cause of these collectives together (indices, the worst first), in all of which one rank was
 * last.
 */
void late_cause_find(struct late_causes *causes, const size_t *collectives, size_t nr,
		     struct late_cause *ret_cause);
void late_cause_fini(struct late_cause *cause);

#endif
