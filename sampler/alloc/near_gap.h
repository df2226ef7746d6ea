/* Finds free addresses that code can reach by a jump. */
#ifndef SPROF_NEAR_GAP_H
#define SPROF_NEAR_GAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A used range of addresses. */
struct address_range {
	uint64_t start, end;
};

/*
 * Returns the page-aligned start of `size` free bytes that are within 1.75 GiB of `low` and of
 * `high`, and not where the heap or mmap(2) grow next; 0: there are none. `used` is sorted.
 */
uint64_t near_gap_choose(const struct address_range *used, size_t nr, uint64_t low, uint64_t high,
			 uint64_t size);
/* The same for a process, by its maps. */
uint64_t near_gap_find(pid_t pid, uint64_t low, uint64_t high, uint64_t size);

#endif
