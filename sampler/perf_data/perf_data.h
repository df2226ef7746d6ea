/*
 * Reads what perf record wrote, perf.data, into a profile: samples of its first event, with the modules
 * and addresses their stacks ran in, not yet named. Stacks that perf copied (--call-graph dwarf) are
 * unwound here, with the files that were mapped, where they are still the same.
 */
#ifndef SPROF_PERF_DATA_H
#define SPROF_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* What the result cannot say of itself; strings are the caller's to free. */
struct perf_data_facts {
	char *kernel_symbol; /* a symbol of the kernel that ran, NULL where the file names none */
	uint64_t kernel_address;  /* where it was */
	uint64_t nr_other_events; /* samples of other events, left out */
	uint64_t nr_damaged;	  /* records that could not be read */
	bool cut_off;		  /* the file has no end: perf was killed, or it is incomplete */
};

/* Does a file that begins so look like it? */
bool perf_data_is(const void *data, size_t size);

/*
 * 0 with a profile that the caller frees, or -errno, not reported: -EINVAL where nothing of it can be
 * read, -ENODATA where it holds no samples, -ENOTSUP where another kind of machine made it, -EFBIG.
 */
int perf_data_read(const void *data, size_t size, struct perf_data_facts *ret_facts,
		   struct profile **ret_profile);

#endif
