/*
 * A ring of records in shared memory: many producers, one consumer, no locks, no system calls. The
 * producers are signal handlers inside a target; the consumer is the recorder, another process.
 *
 * The ring is an array of 64-bit words, a power of two. Positions count words from the start and
 * never wrap; a word lies at its position modulo the size. A record is one header word and the
 * words that follow it. A producer
 *
 *	ring_reserve()	takes room by compare and swap, or counts a drop;
 *	ring_put()	fills the words after the header;
 *	ring_commit()	writes the header, with release order: the record is whole then.
 *
 * The header holds its own position, so a word that an earlier lap left there is never taken for a
 * header, and nothing needs clearing. The consumer trusts none of it: it keeps its own tail, checks
 * every size, and steps over a record that a producer reserved and never finished.
 */
#ifndef SPROF_RING_H
#define SPROF_RING_H

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct ring {
	__u64 head; /* words reserved; written by producers */
	__u64 pad0[7];
	__u64 tail; /* words consumed; written by the consumer */
	__u64 pad1[7];
	__u64 nr_dropped; /* records that found no room; written by producers */
	__u64 pad2[7];
};
_Static_assert(sizeof(struct ring) == 192, "a cache line each");

#define RING_MAX_RECORD 4608u /* words, header included; the largest is a stack */

/*
 * Bit 62: a header; bit 61: committed; then 41 bits of position and 20 bits of size in words.
 * Addresses of user space have neither bit, so frames do not look like headers.
 */
#define RING_HEADER (1ull << 62)
#define RING_COMMITTED (1ull << 61)
#define RING_SIZE_BITS 20

static __always_inline __u64 ring_header(__u64 position, __u32 nr_words)
{
	return RING_HEADER | (position & ((1ull << 41) - 1)) << RING_SIZE_BITS | nr_words;
}

/* ---- producers */

/*
 * Reserves a record of nr_words (2 to RING_MAX_RECORD) in a ring of `size` words; *ret_position is
 * the position of its header. Returns 0, or -1 if there is no room, which counts a drop.
 */
static __always_inline int ring_reserve(struct ring *ring, __u64 *words, __u32 size, __u32 nr_words,
					__u64 *ret_position)
{
	__u64 head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	do {
		/* acquire: the consumer has read the words before it released them */
		if (head + nr_words - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > size) {
			__atomic_fetch_add(&ring->nr_dropped, 1, __ATOMIC_RELAXED);
			return -1;
		}
	} while (!__atomic_compare_exchange_n(&ring->head, &head, head + nr_words, 1,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&words[head & (size - 1)], ring_header(head, nr_words), __ATOMIC_RELAXED);
	*ret_position = head;
	return 0;
}

static __always_inline void ring_put(__u64 *words, __u32 size, __u64 position, __u64 value)
{
	__atomic_store_n(&words[position & (size - 1)], value, __ATOMIC_RELAXED);
}

static __always_inline void ring_commit(__u64 *words, __u32 size, __u64 position, __u32 nr_words)
{
	__atomic_store_n(&words[position & (size - 1)],
			 ring_header(position, nr_words) | RING_COMMITTED, __ATOMIC_RELEASE);
}

/* ---- the consumer */

enum ring_state {
	RING_EMPTY,
	RING_RECORD,  /* *ret_nr words at `tail`, header included */
	RING_STARTED, /* the record at `tail` is not finished; *ret_nr is its size, 0 = unknown */
	RING_BROKEN,  /* the positions are impossible: a target wrote them */
};

/* Returns what is at `tail`, the consumer's own copy of the position. */
static __always_inline enum ring_state ring_peek(const struct ring *ring, const __u64 *words,
						 __u32 size, __u64 tail, __u32 *ret_nr)
{
	__u64 used = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail, header;
	__u32 nr;

	*ret_nr = 0;
	if (!used)
		return RING_EMPTY;
	if (used > size)
		return RING_BROKEN;
	header = __atomic_load_n(&words[tail & (size - 1)], __ATOMIC_ACQUIRE);
	nr = header & ((1u << RING_SIZE_BITS) - 1);
	if ((header & ~RING_COMMITTED) != ring_header(tail, nr))
		return RING_STARTED;
	if (nr < 2 || nr > RING_MAX_RECORD || nr > used)
		return RING_BROKEN;
	*ret_nr = nr;
	return header & RING_COMMITTED ? RING_RECORD : RING_STARTED;
}

static __always_inline __u64 ring_get(const __u64 *words, __u32 size, __u64 position)
{
	return __atomic_load_n(&words[position & (size - 1)], __ATOMIC_RELAXED);
}

/* Gives the words before `tail` back to the producers. */
static __always_inline void ring_release(struct ring *ring, __u64 tail)
{
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

#endif
