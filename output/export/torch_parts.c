/*
 * Divides a profile into files by process, because readers demand one rank per file. Ranks come
 * from the launcher of the job (FACT_RANK).
 */
#include "output/export/torch_parts.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"

#define NO_RANK UINT64_MAX
#define MAX_RANK (1u << 24) /* readers make plots with a bar for each number */

/* Sorts the numbers and drops repeated ones; returns how many are left. */
static size_t make_distinct(uint64_t *list, size_t nr)
{
	size_t kept = 0;

	qsort(list, nr, sizeof(*list), order_u64);
	for (size_t i = 0; i < nr; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

static uint64_t *list_pids(const struct profile *p, size_t *ret_nr)
{
	const struct fact_gpu_activity *activities;
	const struct fact_range_run *runs;
	size_t nr_activities, nr_runs, nr = 0;
	uint64_t *pids;

	activities = facts_rows(p, FACT_GPU_ACTIVITY, &nr_activities);
	runs = facts_rows(p, FACT_RANGE_RUN, &nr_runs);
	pids = xreallocarray(NULL, nr_activities + nr_runs + 1, sizeof(*pids));
	for (size_t i = 0; i < nr_activities; i++)
		pids[nr++] = (uint32_t)activities[i].pid;
	for (size_t i = 0; i < nr_runs; i++)
		pids[nr++] = (uint32_t)runs[i].pid;
	*ret_nr = make_distinct(pids, nr);
	return pids;
}

static struct torch_part part_of(const struct profile *p, uint64_t pid)
{
	struct torch_part part = { .pid = (uint32_t)pid, .rank = NO_RANK };
	const struct fact_rank *ranks;
	size_t nr;

	ranks = facts_rows(p, FACT_RANK, &nr);
	for (size_t i = 0; i < nr; i++)
		if (ranks[i].pid == pid && ranks[i].rank < MAX_RANK) {
			part.rank = ranks[i].rank;
			part.nr_ranks = ranks[i].nr_ranks;
		}
	return part;
}

static int compare_parts(const void *a, const void *b)
{
	const struct torch_part *x = a, *y = b;

	return ORDER(x->rank, y->rank) ?: ORDER(x->pid, y->pid);
}

/* Parts are sorted by rank, those without one last; of two with one rank the first keeps it. */
static void number_the_rest(struct torch_part *parts, size_t nr)
{
	uint64_t *taken = xreallocarray(NULL, nr + 1, sizeof(*taken));
	size_t nr_taken = 0, at = 0;
	uint64_t next = 0;

	for (size_t i = 0; i < nr; i++)
		if (parts[i].rank == NO_RANK || (nr_taken && taken[nr_taken - 1] == parts[i].rank))
			parts[i].rank = NO_RANK;
		else
			taken[nr_taken++] = parts[i].rank;
	for (size_t i = 0; i < nr; i++) {
		if (parts[i].rank != NO_RANK)
			continue;
		for (; at < nr_taken && taken[at] == next; at++)
			next++;
		parts[i].rank = next++;
	}
	free(taken);
}

struct torch_part *torch_parts(const struct profile *p, size_t *ret_nr)
{
	size_t nr;
	uint64_t *pids = list_pids(p, &nr);
	struct torch_part *parts = xcalloc(nr + 1, sizeof(*parts));

	for (size_t i = 0; i < nr; i++)
		parts[i] = part_of(p, pids[i]);
	qsort(parts, nr, sizeof(*parts), compare_parts);
	number_the_rest(parts, nr);
	qsort(parts, nr, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < nr; i++)
		if (parts[i].nr_ranks <= parts[i].rank || parts[i].nr_ranks < nr)
			parts[i].nr_ranks = parts[nr - 1].rank + 1;
	if (!nr)
		parts[nr++] = (struct torch_part){ .pid = PROFILE_NONE, .nr_ranks = 1 };
	*ret_nr = nr;
	free(pids);
	return parts;
}
