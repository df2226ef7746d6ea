/* Pairs the operations of two lanes: operations that overlap in time may be one collective. */
#ifndef SPROF_LANE_MATCH_H
#define SPROF_LANE_MATCH_H

#include <stddef.h>
#include <stdint.h>

struct rank_lane;

/* Sorts times, or the differences of times, from the least on. */
void lane_sort_times(int64_t *times, size_t nr);

/* How well two lanes fit, by their first operations. */
struct lane_fit {
	size_t nr;	 /* pairs */
	size_t nr_asked; /* of how many of the shorter lane */
	/*
	 * How far the ends of a pair are apart, without a sign: of 9 pairs in 10 at most this, on
	 * the host of one in 2, as a thread may wait for a CPU before it returns.
	 */
	int64_t apart_ns;
};

/*
 * Writes for each operation of `a` the index of that of `b`, or UINT32_MAX. An operation of b has
 * at most one partner. shift_ns is added to the times of b; ends may differ by slack_ns more than
 * overlapping allows.
 */
void lane_match(const struct rank_lane *a, const struct rank_lane *b, int64_t shift_ns,
		int64_t slack_ns, size_t max, uint32_t *partner);
struct lane_fit lane_fit(const struct rank_lane *a, const struct rank_lane *b, int64_t shift_ns,
			 int64_t slack_ns);

/*
 * Looks for the shift between two clocks: the difference of the ends is the same for all pairs if
 * the operations are paired rightly. Lanes may begin at different operations. Returns how many ends
 * it is from; 0: none was found, and *ret_shift stays as it was. *ret_spread is the median distance
 * of an end from the shift. guess_ns decides where several shifts fit alike.
 */
size_t lane_shift(const struct rank_lane *a, const struct rank_lane *b, int64_t guess_ns,
		  int64_t *ret_shift, int64_t *ret_spread);

#endif
