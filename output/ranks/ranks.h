/*
 * Compares the ranks of a distributed job by their collective operations (FACT_COLLECTIVE): no rank
 * leaves an all-reduce before all have arrived, so the operations of all ranks can be put side by
 * side, and the one that arrives last made the others wait.
 *
 *	ranks_new(); ranks_add(r, profile) for each recording; ranks_align(r)
 *
 * Times of hosts are made those of the first one: by the ends of operations, which are the same
 * moment everywhere. Within one host they are compared as they are.
 */
#ifndef SPROF_RANKS_H
#define SPROF_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"

struct profile;

/* One operation of one rank. Times are of the first recording's clock once ranks are aligned. */
struct rank_op {
	int64_t start_ns, end_ns;
	int64_t call_ns;	/* when its call began; start_ns where that is not known */
	uint32_t name;		/* index in ranks.names */
	uint32_t thread, stack; /* of the profile, or PROFILE_NONE */
};

/* Operations of a rank that follow one another: those of a stream. */
struct rank_lane {
	uint32_t rank; /* index in ranks.list */
	uint8_t way;   /* enum collective_way */
	uint64_t device, id;
	struct rank_op *ops; /* by start */
	size_t nr, capacity;
	uint32_t communicator; /* index in ranks.communicators */
};

struct rank {
	const struct profile *p;
	uint32_t pid;
	uint32_t number;
	bool is_numbered;  /* false: its launcher told no rank; the number is that of its place */
	uint64_t nr_ranks; /* of its job, as its launcher told; 0: unknown */
	const char *host, *uuid; /* uuid: of the GPU of its first operation, "": unknown */
	uint32_t clock;		 /* index in ranks.clocks */
	size_t nr_ops;
	/* over the collectives that all ranks of a communicator have records of */
	size_t nr_collectives, nr_last;
	uint64_t late_ns;   /* sum over those in which it came last */
	uint64_t waited_ns; /* sum of its waits for the last */
};

/* The clock of a host since it was booted. */
struct rank_clock {
	const char *host;
	int64_t realtime_ahead_ns; /* time of day less CLOCK_MONOTONIC */
	int64_t shift_ns;	   /* what makes its times those of the first clock */
	size_t nr_ends;		   /* ends that shift_ns is from; 0: from the time of day alone */
	int64_t spread_ns;	   /* of those ends: the median distance from the shift */
};

struct rank_communicator {
	uint32_t *lanes; /* by rank */
	size_t nr, capacity;
};

/*
 * An operation of all ranks of a communicator, but for its first one: that waits for the ranks to
 * start, and would hide all others.
 */
struct rank_collective {
	uint32_t communicator, name;
	uint32_t last;	    /* index in ranks.list */
	uint32_t number;    /* of the communicator, from 1 */
	size_t ops;	    /* index in ranks.members: an op index for each lane */
	int64_t start_ns;   /* the last arrival */
	uint64_t late_ns;   /* the last arrival after the median one */
	uint64_t waited_ns; /* of all ranks together */
};

struct ranks {
	struct rank *list; /* by number */
	struct rank_lane *lanes;
	struct rank_clock *clocks;
	struct rank_communicator *communicators;
	struct rank_collective *collectives; /* by late_ns, most first */
	uint32_t *members;
	char **names; /* "AllReduce" */
	size_t nr, capacity, nr_lanes, lanes_capacity, nr_clocks, clocks_capacity;
	size_t nr_communicators, communicators_capacity, nr_collectives, collectives_capacity;
	size_t nr_members, members_capacity, nr_names, names_capacity;
	/* indices by hash; ranks: of the profile that was added last */
	struct number_map rank_index, lane_index, name_index;
	size_t nr_incomplete; /* operations that some rank of the communicator has no record of */
	size_t nr_left_out;   /* processes, lanes or operations beyond what is compared */
};

struct ranks *ranks_new(void);
/* The profile must outlive the ranks. */
void ranks_add(struct ranks *r, const struct profile *p);
/* To be called once, after all profiles. */
void ranks_align(struct ranks *r);
void ranks_free(struct ranks *r); /* NULL is fine */

/* The operation of a member: a lane of the communicator, in its order. */
static inline const struct rank_op *ranks_op(const struct ranks *r, const struct rank_collective *c,
					     size_t member)
{
	const struct rank_communicator *group = &r->communicators[c->communicator];

	return &r->lanes[group->lanes[member]].ops[r->members[c->ops + member]];
}

#endif
