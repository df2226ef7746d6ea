/*
 * Finds communicators by time, because recordings do not say which streams of which ranks are one:
 * each operation of a communicator overlaps on all of its ranks, and ends on all of them together.
 * The pairs of lanes that end most nearly together are joined first. Groups are joined only if
 * every lane of one fits every lane of the other, and not much worse than those joined before:
 * groups of ranks that only run in step stay apart.
 */
#include "output/ranks/communicators.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "output/ranks/lane_match.h"
#include "output/ranks/ranks.h"

#define MAX_PAIRS (1u << 21)  /* that are compared */
#define MAX_LOST 16	      /* one operation in so many may lack its partner */
#define SLACK_NS 20000	      /* CUPTI converts times to within some us */
#define WORSE 4		      /* times; a join may fit that much worse than those before it */
#define GPU_FLOOR_NS 10000    /* fits below this are alike: kernels of one collective end so */
#define HOST_FLOOR_NS 2000000 /* a thread may wait for a CPU before it returns */

struct pair {
	uint32_t a, b; /* lanes */
	int64_t apart_ns;
};

static void shift_clock(struct ranks *r, uint32_t clock)
{
	struct rank_clock *c = &r->clocks[clock];
	const int64_t guess = c->shift_ns;
	int64_t shift, spread, best = INT64_MAX;
	size_t nr, nr_pairs = 0;

	for (size_t i = 0; i < r->nr_lanes; i++) {
		if (r->list[r->lanes[i].rank].clock != 0)
			continue;
		for (size_t j = 0; j < r->nr_lanes && nr_pairs < MAX_PAIRS / 256; j++) {
			if (r->list[r->lanes[j].rank].clock != clock)
				continue;
			nr_pairs++;
			nr = lane_shift(&r->lanes[i], &r->lanes[j], guess, &shift, &spread);
			if (!nr || spread >= best)
				continue;
			best = spread;
			c->shift_ns = shift;
			c->spread_ns = spread;
			c->nr_ends = nr;
		}
	}
}

static void shift_lanes(struct ranks *r)
{
	for (size_t i = 0; i < r->nr_lanes; i++) {
		struct rank_lane *lane = &r->lanes[i];
		int64_t shift = r->clocks[r->list[lane->rank].clock].shift_ns;

		for (size_t k = 0; k < lane->nr; k++) {
			lane->ops[k].start_ns += shift;
			lane->ops[k].end_ns += shift;
			lane->ops[k].call_ns += shift;
		}
	}
}

static int64_t slack_between(const struct ranks *r, const struct rank_lane *a,
			     const struct rank_lane *b)
{
	uint32_t x = r->list[a->rank].clock, y = r->list[b->rank].clock;

	return SLACK_NS + (x == y ? 0 : 4 * (r->clocks[x].spread_ns + r->clocks[y].spread_ns));
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return ORDER(x->apart_ns, y->apart_ns) ?: ORDER(x->a, y->a) ?: ORDER(x->b, y->b);
}

/* Pairs of lanes of which nearly all operations overlap: some may have been lost. */
static struct pair *fitting_pairs(const struct ranks *r, size_t *ret_nr)
{
	struct pair *pairs = NULL;
	size_t nr = 0, capacity = 0, nr_tried = 0;

	for (uint32_t i = 0; i < r->nr_lanes; i++)
		for (uint32_t j = i + 1; j < r->nr_lanes && nr_tried < MAX_PAIRS; j++) {
			const struct rank_lane *a = &r->lanes[i], *b = &r->lanes[j];
			struct lane_fit fit;

			if (a->rank == b->rank || a->way != b->way)
				continue;
			nr_tried++;
			fit = lane_fit(a, b, 0, slack_between(r, a, b));
			if (!fit.nr || fit.nr < fit.nr_asked - fit.nr_asked / MAX_LOST)
				continue;
			pairs = xgrow(pairs, &capacity, nr + 1, sizeof(*pairs));
			pairs[nr++] = (struct pair){ i, j, fit.apart_ns };
		}
	if (nr)
		qsort(pairs, nr, sizeof(*pairs), compare_pairs);
	*ret_nr = nr;
	return pairs;
}

static uint32_t find_group(uint32_t *of, uint32_t lane)
{
	while (of[lane] != lane)
		lane = of[lane] = of[of[lane]];
	return lane;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* True if all lanes of the groups a and b fit one another. Lanes of one rank never do. */
static bool can_join(const struct ranks *r, uint32_t *of, uint32_t a, uint32_t b,
		     struct number_map *fitting)
{
	for (uint32_t i = 0; i < r->nr_lanes; i++) {
		bool is_new;

		if (find_group(of, i) != a)
			continue;
		for (uint32_t k = 0; k < r->nr_lanes; k++)
			if (find_group(of, k) == b &&
			    !*number_map_at(fitting, pair_key(i, k), &is_new))
				return false;
	}
	return true;
}

static void join_lanes(const struct ranks *r, uint32_t *of)
{
	int64_t *apart = xcalloc(r->nr_lanes + 1, sizeof(*apart)); /* by group: of its worst pair */
	struct number_map fitting = { 0 }; /* by pair_key(): 1 if the pair fits */
	bool is_new;
	struct pair *pairs;
	size_t nr;

	for (uint32_t i = 0; i < r->nr_lanes; i++) {
		of[i] = i;
		apart[i] = r->lanes[i].way == COLLECTIVE_GPU ? GPU_FLOOR_NS : HOST_FLOOR_NS;
	}
	pairs = fitting_pairs(r, &nr);
	for (size_t i = 0; i < nr; i++)
		*number_map_at(&fitting, pair_key(pairs[i].a, pairs[i].b), &is_new) = 1;
	for (size_t i = 0; i < nr; i++) {
		uint32_t a = find_group(of, pairs[i].a), b = find_group(of, pairs[i].b);
		int64_t most = apart[a] > apart[b] ? apart[a] : apart[b];

		if (a == b || pairs[i].apart_ns > WORSE * most || !can_join(r, of, a, b, &fitting))
			continue;
		of[b] = a;
		apart[a] = pairs[i].apart_ns > most ? pairs[i].apart_ns : most;
	}
	free(pairs);
	free(apart);
	number_map_fini(&fitting);
}

static void add_lane(struct ranks *r, uint32_t group, uint32_t lane)
{
	struct rank_communicator *c = &r->communicators[group];
	size_t at = c->nr;

	c->lanes = xgrow(c->lanes, &c->capacity, c->nr + 1, sizeof(*c->lanes));
	for (; at && r->lanes[c->lanes[at - 1]].rank > r->lanes[lane].rank; at--)
		c->lanes[at] = c->lanes[at - 1];
	c->lanes[at] = lane;
	c->nr++;
	r->lanes[lane].communicator = group;
}

/* Lanes of one rank alone are no communicator. */
static void make_communicators(struct ranks *r, uint32_t *of)
{
	uint32_t *number = xcalloc(r->nr_lanes + 1, sizeof(*number)), *size;

	size = xcalloc(r->nr_lanes + 1, sizeof(*size));
	for (uint32_t i = 0; i < r->nr_lanes; i++)
		size[find_group(of, i)]++;
	for (uint32_t i = 0; i < r->nr_lanes; i++) {
		uint32_t root = find_group(of, i);

		if (size[root] < 2)
			continue;
		if (!number[root]) {
			r->communicators =
				xgrow(r->communicators, &r->communicators_capacity,
				      r->nr_communicators + 1, sizeof(*r->communicators));
			r->communicators[r->nr_communicators] = (struct rank_communicator){ 0 };
			number[root] = (uint32_t)++r->nr_communicators;
		}
		add_lane(r, number[root] - 1, i);
	}
	free(number);
	free(size);
}

void communicators_find(struct ranks *r)
{
	uint32_t *of = xcalloc(r->nr_lanes + 1, sizeof(*of));

	for (uint32_t i = 1; i < r->nr_clocks; i++)
		shift_clock(r, i);
	shift_lanes(r);
	join_lanes(r, of);
	make_communicators(r, of);
	free(of);
}

/* Fills in which rank came last, and by how much; `starts` is room for all ranks. */
static void judge(struct ranks *r, struct rank_collective *c, int64_t *starts)
{
	const struct rank_communicator *group = &r->communicators[c->communicator];
	struct rank *last;

	c->start_ns = INT64_MIN;
	for (size_t i = 0; i < group->nr; i++) {
		starts[i] = ranks_op(r, c, i)->start_ns;
		if (starts[i] <= c->start_ns)
			continue;
		c->start_ns = starts[i];
		c->last = r->lanes[group->lanes[i]].rank;
	}
	for (size_t i = 0; i < group->nr; i++) {
		struct rank *rank = &r->list[r->lanes[group->lanes[i]].rank];

		rank->nr_collectives++;
		rank->waited_ns += (uint64_t)(c->start_ns - starts[i]);
		c->waited_ns += (uint64_t)(c->start_ns - starts[i]);
	}
	lane_sort_times(starts, group->nr);
	c->late_ns = (uint64_t)(c->start_ns - starts[(group->nr - 1) / 2]);
	last = &r->list[c->last];
	last->nr_last++;
	last->late_ns += c->late_ns;
}

static void compare_communicator(struct ranks *r, uint32_t number)
{
	const struct rank_communicator *group = &r->communicators[number];
	const struct rank_lane *first = &r->lanes[group->lanes[0]];
	uint32_t **partners = xcalloc(group->nr, sizeof(*partners));
	int64_t *starts = xcalloc(group->nr, sizeof(*starts));
	uint32_t nr_of = 0;

	for (size_t i = 1; i < group->nr; i++) {
		const struct rank_lane *lane = &r->lanes[group->lanes[i]];

		partners[i] = xcalloc(first->nr + 1, sizeof(**partners));
		lane_match(first, lane, 0, slack_between(r, first, lane), first->nr, partners[i]);
	}
	for (uint32_t k = 0; k < first->nr; k++) {
		struct rank_collective c = { .communicator = number,
					     .name = first->ops[k].name,
					     .ops = r->nr_members };
		bool whole = true;

		r->members = xgrow(r->members, &r->members_capacity, r->nr_members + group->nr,
				   sizeof(*r->members));
		for (size_t i = 0; i < group->nr; i++) {
			uint32_t op = i ? partners[i][k] : k;

			whole &= op != UINT32_MAX;
			r->members[r->nr_members + i] = op;
		}
		if (!whole) {
			r->nr_incomplete++;
			continue;
		}
		if (!nr_of++ && first->nr > 1) /* the first one waits for ranks to start */
			continue;
		c.number = nr_of;
		r->nr_members += group->nr;
		judge(r, &c, starts);
		r->collectives = xgrow(r->collectives, &r->collectives_capacity,
				       r->nr_collectives + 1, sizeof(c));
		r->collectives[r->nr_collectives++] = c;
	}
	for (size_t i = 1; i < group->nr; i++)
		free(partners[i]);
	free(partners);
	free(starts);
}

static int compare_lateness(const void *a, const void *b)
{
	const struct rank_collective *x = a, *y = b;

	return ORDER(y->late_ns, x->late_ns) ?: ORDER(x->communicator, y->communicator)
	       ?: ORDER(x->number, y->number);
}

void communicators_compare(struct ranks *r)
{
	for (uint32_t i = 0; i < r->nr_communicators; i++)
		compare_communicator(r, i);
	if (r->nr_collectives)
		qsort(r->collectives, r->nr_collectives, sizeof(*r->collectives), compare_lateness);
}
