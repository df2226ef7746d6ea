/*
 * The ring has a page of head and a page of data. Only PERF_RECORD_THROTTLE comes into it, because
 * the event's samples go to a BPF program.
 */
#include "sampler/events/throttle_ring.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t ring_size(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

struct perf_event_mmap_page *throttle_ring_map(int fd)
{
	void *ring = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return ring == MAP_FAILED ? NULL : ring;
}

void throttle_ring_unmap(struct perf_event_mmap_page *ring)
{
	if (ring)
		munmap(ring, ring_size());
}

uint64_t throttle_ring_read(struct perf_event_mmap_page *ring)
{
	/* Pairs with the kernel's store-release of data_head: records before it are complete. */
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), tail, nr = 0;
	uint64_t mask = ring_size() / 2 - 1;
	const uint8_t *data = (const uint8_t *)ring + mask + 1;
	struct perf_event_header h;

	/* Records are multiples of 8 bytes, so a header never wraps. */
	for (tail = ring->data_tail; head - tail >= sizeof(h); tail += h.size) {
		memcpy(&h, data + (tail & mask), sizeof(h));
		if (h.size < sizeof(h))
			break;
		nr += h.type == PERF_RECORD_THROTTLE;
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	return nr;
}
