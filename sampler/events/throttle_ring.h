/*
 * A ring of a perf event in which the kernel says nothing but that it throttled the event.
 */
#ifndef SPROF_THROTTLE_RING_H
#define SPROF_THROTTLE_RING_H

#include <stdint.h>

struct perf_event_mmap_page;

/* Maps the event's ring, of one page. NULL where that fails, with errno set. */
struct perf_event_mmap_page *throttle_ring_map(int fd);
void throttle_ring_unmap(struct perf_event_mmap_page *ring); /* NULL is fine */
/* Returns how often the event was throttled since the last call. */
uint64_t throttle_ring_read(struct perf_event_mmap_page *ring);

#endif
