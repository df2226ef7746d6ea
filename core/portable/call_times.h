/*
 * The histogram of how long system calls took, as the BPF program, the recorder and the readers of
 * a recording have it. On disk too: bucket i holds times of i ns below 16; from there on each power
 * of two, an octave, has eight buckets, so a time is known to an eighth. The last bucket holds all
 * times from 68 minutes on.
 */
#ifndef SPROF_CALL_TIMES_H
#define SPROF_CALL_TIMES_H

#include <linux/types.h>

#define CALL_BUCKETS 320
#define CALL_OCTAVE 8 /* buckets, which are a row of a recording */
#define CALL_OCTAVES (CALL_BUCKETS / CALL_OCTAVE)

static inline __attribute__((always_inline)) __u32 call_bucket_of(__u64 ns)
{
	__u32 shift = 0;
	__u64 rest = ns;

	for (int i = 32; i; i >>= 1)
		if (rest >> i) {
			rest >>= i;
			shift += i;
		}
	if (shift < 3)
		return ns & 7;
	shift = (shift - 2) * 8 + (ns >> (shift - 3) & 7);
	return shift < CALL_BUCKETS ? shift : CALL_BUCKETS - 1;
}

/* The least time that a bucket holds. */
static inline __u64 call_bucket_start(__u32 bucket)
{
	return bucket < 16 ? bucket : (8ull + bucket % 8) << (bucket / 8 - 1);
}

/* The time in the middle of a bucket. */
static inline __u64 call_bucket_middle(__u32 bucket)
{
	return bucket < 16 ? bucket : call_bucket_start(bucket) + (1ull << (bucket / 8 - 1)) / 2;
}

/*
 * The time that so many percent of the calls did not exceed, to an eighth; at most max_ns. `calls`
 * has CALL_BUCKETS numbers.
 */
static inline __u64 call_times_percentile(const __u64 *calls, __u32 percent, __u64 max_ns)
{
	__u64 nr = 0, seen = 0, wanted;

	for (__u32 i = 0; i < CALL_BUCKETS; i++)
		nr += calls[i];
	wanted = nr / 100 * percent + (nr % 100 * percent + 99) / 100;
	for (__u32 i = 0; nr && i < CALL_BUCKETS; i++) {
		seen += calls[i];
		if (seen >= wanted)
			return call_bucket_middle(i) < max_ns ? call_bucket_middle(i) : max_ns;
	}
	return 0;
}

#endif
