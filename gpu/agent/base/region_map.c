/*
 * A memfd with all areas laid out one after the other, each on a page of its own. It is mapped
 * shared and sealed against resizing, so that the recorder cannot fault on it; a forked child does
 * not have it.
 */
#include "gpu/agent/base/region_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/base/state.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif
#define PAGE 4096u

/*
 * Called by the C library in a forked child, where the kernel cannot wipe the page (before Linux
 * 4.14).
 */
static void forked(void)
{
	*agent.alive = 0;
}

int region_map_alive(void)
{
	int (*at_fork)(void (*)(void), void (*)(void), void (*)(void), void *);
	uint32_t *page;

	if (agent.alive)
		return 0;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	*page = 1;
	agent.alive = page;
	if (!madvise(page, PAGE, MADV_WIPEONFORK))
		return 0;
	at_fork = (int (*)(void (*)(void), void (*)(void), void (*)(void),
			   void *))image_libc_symbol("__register_atfork");
	return at_fork ? at_fork(NULL, NULL, forked, NULL) : -ENOSYS;
}

static uint64_t place(struct gpu_area *area, uint64_t at, uint64_t size, uint32_t entry_size)
{
	area->offset = at;
	area->size = size;
	area->entry_size = entry_size;
	return at + ((size + PAGE - 1) & ~(uint64_t)(PAGE - 1));
}

/*
 * Sets the place of each area. Returns the bytes of the whole; *ret_rings: where the rings begin.
 */
static uint64_t lay_out(struct gpu_region *r, uint64_t *ret_rings)
{
	const uint64_t header = (sizeof(*r) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	uint64_t at = header;

	at = place(&r->strings, at, AGENT_STRINGS, 0);
	at = place(&r->stacks, at, AGENT_STACKS, 0);
	at = place(&r->ranges, at, AGENT_RANGES * sizeof(struct gpu_range_node),
		   sizeof(struct gpu_range_node));
	at = place(&r->folds, at, AGENT_FOLDS * sizeof(struct gpu_fold), sizeof(struct gpu_fold));
	at = place(&r->apis, at, 2ull * AGENT_LANES * GPU_MAX_CBIDS * sizeof(struct gpu_api),
		   sizeof(struct gpu_api));
	at = place(&r->devices, at, GPU_MAX_DEVICES * sizeof(struct gpu_device),
		   sizeof(struct gpu_device));
	at = place(&r->estimates, at, AGENT_ESTIMATES * sizeof(struct gpu_estimate),
		   sizeof(struct gpu_estimate));
	at = place(&r->flops, at, AGENT_FLOPS * sizeof(struct gpu_flops), sizeof(struct gpu_flops));
	at = place(&r->pc_rows, at, AGENT_PC_ROWS * sizeof(struct gpu_pc_row),
		   sizeof(struct gpu_pc_row));
	at = place(&r->lanes, at, AGENT_LANES * sizeof(struct gpu_lane), sizeof(struct gpu_lane));
	*ret_rings = at;
	return at + AGENT_ACTIVITY_BYTES + (uint64_t)(AGENT_LANES - 1) * AGENT_LANE_BYTES;
}

static void fill_header(struct gpu_region *r, const struct gpu_region *plan, uint64_t rings,
			uint64_t bytes)
{
	struct gpu_lane *lanes;

	*r = *plan;
	r->magic = GPU_REGION_MAGIC;
	r->version = GPU_REGION_VERSION;
	r->header_size = sizeof(*r);
	r->region_bytes = bytes;
	r->pid = (uint32_t)getpid();
	r->start_ns = clock_now_ns();
	r->config.want = GPU_WANT_DEFAULT;
	r->nr_lanes = AGENT_LANES;
	r->strings.used = 16; /* id 0: an empty string */
	r->stacks.used = 8;   /* id 0: an empty stack */
	r->ranges.used = 1;
	r->folds.used = AGENT_FOLDS;
	r->apis.used = 2ull * AGENT_LANES * GPU_MAX_CBIDS;
	r->devices.used = GPU_MAX_DEVICES;
	r->estimates.used = AGENT_ESTIMATES;
	r->flops.used = AGENT_FLOPS;
	r->pc_rows.used = AGENT_PC_ROWS;
	r->lanes.used = AGENT_LANES;
	lanes = (struct gpu_lane *)((char *)r + r->lanes.offset);
	for (uint32_t i = 0; i < AGENT_LANES; i++) {
		lanes[i].offset = rings;
		lanes[i].size = i ? AGENT_LANE_BYTES : AGENT_ACTIVITY_BYTES;
		rings += lanes[i].size;
	}
	lanes[0].flags = GPU_LANE_ACTIVITY | GPU_LANE_SHARED;
	lanes[AGENT_LANES - 1].flags = GPU_LANE_SHARED;
}

int region_map(void)
{
	struct gpu_region plan = { 0 };
	uint64_t rings, bytes = lay_out(&plan, &rings);
	/* memfd_create(2), which C libraries before glibc 2.27 have no function for */
	int fd = (int)syscall(SYS_memfd_create, "sprof-gpu", 3u /* CLOEXEC, ALLOW_SEALING */);
	void *at;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes)) {
		close(fd);
		return -errno;
	}
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	madvise(at, bytes, MADV_DONTFORK);
	/* no one with the descriptor may shrink it: the recorder would fault */
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	fill_header(at, &plan, rings, bytes);
	agent.region_fd = fd;
	agent.region = at;
	return 0;
}

/* A child may have closed every descriptor and opened others: the number alone proves nothing. */
const struct gpu_region *region_of_parent(void)
{
	int fd = agent.region_fd, seals = fcntl(fd, F_GET_SEALS);
	off_t size = seals >= 0 && seals & F_SEAL_SHRINK ? lseek(fd, 0, SEEK_END) : -1;
	const struct gpu_region *r;

	agent.region = NULL;
	agent.region_fd = -1;
	if (size < (off_t)sizeof(*r))
		return NULL;
	r = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (r == MAP_FAILED)
		return NULL;
	if (r->magic == GPU_REGION_MAGIC && r->region_bytes == (uint64_t)size) {
		close(fd);
		return r;
	}
	munmap((void *)r, (size_t)size);
	return NULL;
}

void region_unmap_parent(const struct gpu_region *parent)
{
	munmap((void *)parent, parent->region_bytes);
}

/* Gives the memory of an area back to the kernel, or zeroes it where that is refused. */
static void empty(const struct gpu_area *area)
{
	/* FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE */
	if (syscall(SYS_fallocate, agent.region_fd, 3, area->offset, area->size))
		memset(agent_area(area), 0, area->size);
}

void region_forget(void)
{
	struct gpu_region *r = agent.region;
	struct gpu_device *devices = agent_area(&r->devices);
	struct gpu_lane *lanes = agent_area(&r->lanes);

	empty(&r->folds);
	empty(&r->apis);
	empty(&r->estimates);
	empty(&r->flops);
	empty(&r->pc_rows);
	__atomic_store_n(&r->nr_levels, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < GPU_MAX_COUNTERS; i++)
		if (i != GPU_COUNT_THREADS && i != GPU_COUNT_LANES_SHARED)
			__atomic_store_n(&r->counters[i], 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < GPU_MAX_DEVICES; i++)
		devices[i].peak_bytes = devices[i].allocated_bytes;
	for (uint32_t i = 0; i < AGENT_LANES; i++)
		__atomic_store_n(&lanes[i].dropped, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->active_ns, 0, __ATOMIC_RELAXED); /* a late reader may look at it */
	r->stopped_ns = 0;
}
