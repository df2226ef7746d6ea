/*
 * The kernel publishes records by data_head and reuses what lies before data_tail. A record may
 * wrap around the end of the ring; such a one is copied.
 */
#include "sampler/target/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"

#define MAX_RECORD (sizeof(struct perf_event_header) + UINT16_MAX)

int perf_ring_map(struct perf_ring *r, int fd, size_t size)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page_size + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	r->page = map;
	r->data = (const uint8_t *)map + page_size;
	r->size = size;
	r->record = xmalloc(MAX_RECORD);
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)sysconf(_SC_PAGESIZE) + r->size);
	free(r->record);
	*r = (struct perf_ring){ 0 };
}

/* The `size` bytes at ring position `at`, copied only where they wrap. */
static const uint8_t *contiguous(const struct perf_ring *r, uint64_t at, size_t size)
{
	size_t offset = at & (r->size - 1), first = r->size - offset;

	if (size <= first)
		return r->data + offset;
	memcpy(r->record, r->data + offset, first);
	memcpy(r->record + first, r->data, size - first);
	return r->record;
}

void perf_ring_read(struct perf_ring *r, perf_ring_fn *fn, void *context)
{
	/* Pairs with the kernel's store-release of data_head: records before it are whole. */
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		memcpy(&h, contiguous(r, tail, sizeof(h)), sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail) {
			tail = head; /* not a record, so the next one cannot be found */
			break;
		}
		fn(context, contiguous(r, tail, h.size), h.size);
		tail += h.size;
	}
	/* The kernel may overwrite what lies before data_tail: our reads come before this. */
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}
