/*
 * The mapped ring buffer of a perf event: the kernel appends records at data_head, the reader takes
 * them from data_tail. perf_event_open(2), "MMAP layout".
 */
#ifndef SPROF_PERF_RING_H
#define SPROF_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

struct perf_event_mmap_page;

/* What stands in front of the path in a PERF_RECORD_MMAP2. */
struct perf_mmap2 {
	uint32_t pid, tid;
	uint64_t start, length, pgoff;
	uint32_t major, minor;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
};
_Static_assert(sizeof(struct perf_mmap2) == 64, "PERF_RECORD_MMAP2");

struct perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t size;	 /* bytes of data, a power of two */
	uint8_t *record; /* a copy of one that wraps around the ring's end */
};

/* Maps `size` bytes (a power of two, of pages) of the event's ring. 0 or -errno. */
int perf_ring_map(struct perf_ring *ring, int fd, size_t size);
void perf_ring_unmap(struct perf_ring *ring); /* an all-zero ring is fine */

/* Called with a whole record, which begins with its header. */
typedef void perf_ring_fn(void *context, const uint8_t *bytes, size_t size);

/* Hands over all records and frees their room. */
void perf_ring_read(struct perf_ring *ring, perf_ring_fn *fn, void *context);

#endif
