/*
 * Which allocations are sampled: along the bytes that a thread allocates lie points at exponential
 * distances, and an allocation that a point falls into is sampled. So each byte has the same
 * chance, whatever was sampled before, and an allocation of s bytes is sampled with the probability
 * 1 - exp(-s / interval). The recorder may change the interval at any time; it holds from the next
 * draw on, because an exponential distance has no memory.
 */
#include "sampler/agent/alloc/slow_path.h"
#include "sampler/agent/alloc/x86_64/thread.h"
#include "sampler/agent/syscall.h"

#define CLOCK_MONOTONIC 1
#define NEVER ((__s64)1 << 61)
#define WHILE_SILENT ((__s64)1 << 30) /* bytes until it is looked again whether a recorder lives */
#define LN_2 45426ull		      /* in units of 2^-16 */

struct alloc_counter *alloc_counter_of(struct alloc_private *a)
{
	__u32 hash = (__u32)alloc_thread() * ALLOC_COUNTER_HASH;

	return &a->counters[hash >> ALLOC_COUNTER_SHIFT];
}

__u64 alloc_now_ns(void)
{
	long (*clock_gettime)(long, struct agent_timespec *) = (void *)alloc_home()->clock_gettime;
	struct agent_timespec t = { 0, 0 };

	if (!clock_gettime || clock_gettime(CLOCK_MONOTONIC, &t))
		agent_syscall2(__NR_clock_gettime, CLOCK_MONOTONIC, &t);
	return (__u64)t.seconds * 1000000000u + (__u64)t.nanoseconds;
}

/* xorshift64*, never 0. */
static __u64 next_random(struct alloc_counter *c)
{
	__u64 x = c->random;

	if (!x)
		x = ((__u64)c * 0x9e3779b97f4a7c15ull ^ alloc_seed() ^ alloc_thread()) | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	c->random = x;
	return (x * 0x2545f4914f6cdd1dull) | 1;
}

/* -log2(x / 2^64) in units of 2^-16: its fraction is found by squaring the mantissa, bit by bit. */
static __u64 minus_log2(__u64 x)
{
	__u32 exponent = 63 - (__u32)__builtin_clzll(x);
	__u64 mantissa = x << (63 - exponent), fraction = 0;

	for (int i = 0; i < 16; i++) {
		__uint128_t square = (__uint128_t)mantissa * mantissa;

		mantissa = (__u64)(square >> 63);
		fraction <<= 1;
		if ((__u64)(square >> 127)) {
			fraction |= 1;
			mantissa = (__u64)(square >> 64);
		}
	}
	return ((__u64)(64 - exponent) << 16) - fraction;
}

/*
 * An exponential distance of that mean, rounded down: the point lies in the byte behind so many
 * others, so an allocation is chosen if it is larger than what is left of them.
 */
static __s64 distance(struct alloc_counter *c, __u64 interval)
{
	__u64 log = minus_log2(next_random(c));

	return (__s64)(((__uint128_t)log * LN_2 * interval) >> 32);
}

static __s64 draw(struct alloc_counter *c, __u64 interval)
{
	c->interval = interval;
	return distance(c, interval);
}

/* The interval, or 0 where no samples are to be taken (any more). */
static __u64 interval_now(const struct alloc_private *a, int of_tensors)
{
	const struct alloc_shared *s = alloc_shared_of(a);
	__u64 interval;
	__s64 silent;

	if (a->magic != ALLOC_MAGIC)
		return 0;
	interval =
		__atomic_load_n(of_tensors ? &s->tensor_interval : &s->interval, __ATOMIC_RELAXED);
	silent = (__s64)(alloc_now_ns() - __atomic_load_n(&s->heartbeat_ns, __ATOMIC_RELAXED));
	if (silent <= (__s64)s->heartbeat_limit_ns)
		return interval;
	__atomic_fetch_add(&alloc_shared_of(a)->nr_silences, 1, __ATOMIC_RELAXED);
	return 0;
}

__u64 alloc_crossed(struct alloc_private *a, __u64 size)
{
	struct alloc_counter *c = alloc_counter_of(a);
	__s64 left = __atomic_load_n(&c->left, __ATOMIC_RELAXED), next;
	__u64 interval = interval_now(a, 0), chosen_by;
	int is_first = !c->interval;

	if (!interval) {
		c->interval = 0;
		__atomic_store_n(&c->left, a->magic == ALLOC_MAGIC ? WHILE_SILENT : NEVER,
				 __ATOMIC_RELAXED);
		return 0;
	}
	/* Nothing was drawn so far: the first distance begins with this allocation. */
	if (is_first) {
		next = draw(c, interval);
		if ((__u64)next >= size) {
			__atomic_store_n(&c->left, next - (__s64)size, __ATOMIC_RELAXED);
			return 0;
		}
	}
	/*
	 * Another thread of the same hash may have subtracted, too: one of them takes the sample,
	 * and none leaves the counter below zero.
	 */
	chosen_by = c->interval;
	next = draw(c, interval);
	do {
		if (left >= 0 && !is_first)
			return 0;
	} while (!__atomic_compare_exchange_n(&c->left, &left, next, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	c->since = __atomic_load_n(&alloc_shared_of(a)->nr_draws, __ATOMIC_RELAXED);
	return chosen_by;
}

__u64 alloc_chosen_alone(struct alloc_private *a, __u64 size, __u64 least)
{
	__u64 interval = interval_now(a, 1);

	if (interval && interval < least)
		interval = least;
	if (interval <= 1)
		return interval;
	return (__u64)distance(alloc_counter_of(a), interval) < size ? interval : 0;
}

/*
 * A byte more than the hook counts: of two threads of one hash, what one is given would make up for
 * what the other's hook has counted, and look as if that had counted nothing.
 */
__u64 alloc_uncounted(struct alloc_private *a, original_fn *original, const __u64 *arguments,
		      __u64 size)
{
	__s64 *left = &alloc_counter_of(a)->left, more = (__s64)size + 1;
	__s64 before = __atomic_add_fetch(left, more, __ATOMIC_RELAXED);
	__u64 block = original(arguments[0], arguments[1], arguments[2]);
	int is_counted = __atomic_load_n(left, __ATOMIC_RELAXED) != before;

	__atomic_fetch_sub(left, is_counted ? 1 : more, __ATOMIC_RELAXED);
	return block;
}
