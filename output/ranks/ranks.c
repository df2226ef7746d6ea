/* Collects ranks, lanes and clocks from the facts of recordings. */
#include "output/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/ranks/communicators.h"

#define MAX_RANKS 4096u
#define MAX_LANES 4096u
/* Two recordings of a host whose clocks differ by more were made before and after a boot. */
#define ONE_BOOT_NS 10000000000ll
/* Files may hold anything: beyond these no clock shows a time, and sums cannot overflow. */
#define MAX_TIME (INT64_MAX / 16) /* 18 years since boot */
#define MAX_AHEAD (INT64_MAX / 4) /* 73 years since 1970 */
#define MAX_SHIFT (INT64_MAX / 8)

struct ranks *ranks_new(void)
{
	return xcalloc(1, sizeof(struct ranks));
}

void ranks_free(struct ranks *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_lanes; i++)
		free(r->lanes[i].ops);
	for (size_t i = 0; i < r->nr_communicators; i++)
		free(r->communicators[i].lanes);
	for (size_t i = 0; i < r->nr_names; i++)
		free(r->names[i]);
	number_map_fini(&r->rank_index);
	number_map_fini(&r->lane_index);
	number_map_fini(&r->name_index);
	free(r->list);
	free(r->lanes);
	free(r->clocks);
	free(r->communicators);
	free(r->collectives);
	free(r->members);
	free(r->names);
	free(r);
}

/*
 * "AllReduce" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" and of
 * "ncclKernel_AllReduce_RING_LL_Sum_float". Other names are what stands before their arguments.
 */
static char *short_name(const char *name)
{
	static const char *const prefixes[] = { "ncclDevKernel_", "ncclKernel_",
						"ncclSymDevKernel_", "ncclSymkDevKernel_" };
	size_t length;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *at = strstr(name, prefixes[i]);

		if (!at)
			continue;
		at += strlen(prefixes[i]);
		length = strcspn(at, "_(<");
		return length ? xasprintf("%.*s", (int)length, at) : xstrdup(name);
	}
	length = strcspn(name, "(<");
	return length ? xasprintf("%.*s", (int)length, name) : xstrdup(name);
}

static uint32_t name_index(struct ranks *r, const char *name)
{
	char *text = short_name(name);
	bool is_new;
	uint32_t *index = number_map_at(&r->name_index, XXH3_64bits(text, strlen(text)), &is_new);

	if (!is_new) {
		free(text);
		return *index;
	}
	*index = (uint32_t)r->nr_names;
	r->names = xgrow(r->names, &r->names_capacity, r->nr_names + 1, sizeof(*r->names));
	r->names[r->nr_names] = text;
	r->nr_names++;
	return *index;
}

/*
 * The clock of a rank. A recording that was merged of several hosts is in the time of day, which is
 * each host's own: there each host has a clock, and where the host is not known (it is one of those
 * in a list), each process.
 */
static uint32_t clock_of(struct ranks *r, const struct profile *p, const char *host)
{
	uint64_t told = p->meta.start_realtime_ns - p->meta.start_ns;
	int64_t ahead = told < MAX_AHEAD ? (int64_t)told : 0;
	struct rank_clock *c;

	for (uint32_t i = 0; i < r->nr_clocks && !strchr(host, ','); i++)
		if (!strcmp(r->clocks[i].host, host) &&
		    llabs(r->clocks[i].realtime_ahead_ns - ahead) < ONE_BOOT_NS)
			return i;
	r->clocks = xgrow(r->clocks, &r->clocks_capacity, r->nr_clocks + 1, sizeof(*r->clocks));
	c = &r->clocks[r->nr_clocks];
	*c = (struct rank_clock){ .host = host, .realtime_ahead_ns = ahead };
	if (llabs(c->realtime_ahead_ns - r->clocks[0].realtime_ahead_ns) < MAX_SHIFT)
		c->shift_ns = c->realtime_ahead_ns - r->clocks[0].realtime_ahead_ns;
	return (uint32_t)r->nr_clocks++;
}

static const struct fact_rank *told_rank(const struct profile *p, uint64_t pid)
{
	const struct fact_rank *rows;
	size_t nr;

	rows = facts_rows(p, FACT_RANK, &nr);
	for (size_t i = 0; i < nr; i++)
		if (rows[i].pid == pid)
			return &rows[i];
	return NULL;
}

static const char *uuid_of(const struct profile *p, const struct fact_collective *row)
{
	const struct fact_gpu_device *d = facts_gpu_device(p, row->pid, row->device);

	return d && row->way == COLLECTIVE_GPU ? profile_str(p, (uint32_t)d->uuid) : "";
}

/* PROFILE_NONE: there are too many. */
static uint32_t rank_of(struct ranks *r, const struct profile *p, const struct fact_collective *row)
{
	bool is_new;
	uint32_t *index = number_map_at(&r->rank_index, row->pid, &is_new);
	const struct fact_rank *told;
	struct rank *rank;

	if (!is_new)
		return *index;
	*index = r->nr == MAX_RANKS ? PROFILE_NONE : (uint32_t)r->nr;
	if (r->nr == MAX_RANKS)
		return PROFILE_NONE;
	r->list = xgrow(r->list, &r->capacity, r->nr + 1, sizeof(*r->list));
	rank = &r->list[r->nr];
	told = told_rank(p, row->pid);
	*rank = (struct rank){
		.p = p,
		.pid = (uint32_t)row->pid,
		.number = told ? (uint32_t)told->rank : (uint32_t)r->nr,
		.is_numbered = told != NULL,
		.nr_ranks = told ? told->nr_ranks : 0,
		.host = profile_str(p,
				    told && told->host ? (uint32_t)told->host : p->meta.hostname),
		.uuid = uuid_of(p, row),
	};
	rank->clock = clock_of(r, p, rank->host);
	r->nr++;
	return *index;
}

static struct rank_lane *lane_of(struct ranks *r, uint32_t rank, const struct fact_collective *row)
{
	const uint64_t key[] = { rank, row->way, row->device, row->lane };
	bool is_new;
	uint32_t *index = number_map_at(&r->lane_index, XXH3_64bits(key, sizeof(key)), &is_new);
	struct rank_lane *lane;

	if (!is_new)
		return *index == PROFILE_NONE ? NULL : &r->lanes[*index];
	*index = r->nr_lanes == MAX_LANES ? PROFILE_NONE : (uint32_t)r->nr_lanes;
	if (r->nr_lanes == MAX_LANES)
		return NULL;
	r->lanes = xgrow(r->lanes, &r->lanes_capacity, r->nr_lanes + 1, sizeof(*r->lanes));
	lane = &r->lanes[r->nr_lanes++];
	*lane = (struct rank_lane){ .rank = rank,
				    .way = (uint8_t)row->way,
				    .device = row->device,
				    .id = row->lane,
				    .communicator = PROFILE_NONE };
	return lane;
}

static void add_op(struct ranks *r, const struct profile *p, const struct fact_collective *row)
{
	const int64_t start = (int64_t)row->start_ns;
	uint32_t rank = rank_of(r, p, row);
	struct rank_lane *lane = rank == PROFILE_NONE ? NULL : lane_of(r, rank, row);
	struct rank_op op = {
		.start_ns = start,
		.end_ns = start + (int64_t)row->duration_ns,
		.call_ns = start - (int64_t)row->call_ahead_ns,
		.thread = (uint32_t)row->thread,
		.stack = (uint32_t)row->stack,
	};

	if (!lane) {
		r->nr_left_out++;
		return;
	}
	op.name = name_index(r, profile_str(p, (uint32_t)row->name));
	lane->ops = xgrow(lane->ops, &lane->capacity, lane->nr + 1, sizeof(op));
	lane->ops[lane->nr++] = op;
	r->list[rank].nr_ops++;
}

void ranks_add(struct ranks *r, const struct profile *p)
{
	const struct fact_collective *rows;
	size_t nr;

	number_map_fini(&r->rank_index);
	r->rank_index = (struct number_map){ 0 };
	rows = facts_rows(p, FACT_COLLECTIVE, &nr);
	for (size_t i = 0; i < nr; i++) {
		int64_t ahead = (int64_t)rows[i].call_ahead_ns;

		if (rows[i].start_ns > MAX_TIME || rows[i].duration_ns > MAX_TIME ||
		    ahead > MAX_TIME || ahead < -MAX_TIME)
			r->nr_left_out++;
		else
			add_op(r, p, &rows[i]);
	}
}

static int compare_ops(const void *a, const void *b)
{
	const struct rank_op *x = a, *y = b;

	return ORDER(x->start_ns, y->start_ns);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->is_numbered != y->is_numbered)
		return x->is_numbered ? -1 : 1;
	if (x->is_numbered && x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return ORDER(x->pid, y->pid);
}

/* Sorts the ranks by number; lanes keep theirs by process. */
static void sort_ranks(struct ranks *r)
{
	struct rank *before = xcalloc(r->nr + 1, sizeof(*before));

	memcpy(before, r->list, r->nr * sizeof(*before));
	qsort(r->list, r->nr, sizeof(*r->list), compare_ranks);
	for (size_t i = 0; i < r->nr_lanes; i++) {
		const struct rank *was = &before[r->lanes[i].rank];
		uint32_t now = 0;

		while (r->list[now].p != was->p || r->list[now].pid != was->pid)
			now++;
		r->lanes[i].rank = now;
	}
	for (uint32_t i = 0; i < r->nr; i++)
		if (!r->list[i].is_numbered)
			r->list[i].number = i;
	free(before);
}

void ranks_align(struct ranks *r)
{
	if (!r->nr)
		return;
	sort_ranks(r);
	for (size_t i = 0; i < r->nr_lanes; i++)
		qsort(r->lanes[i].ops, r->lanes[i].nr, sizeof(struct rank_op), compare_ops);
	communicators_find(r);
	communicators_compare(r);
}
