/*
 * Reads a file of perf record, perf.data, into a profile: the samples of one of its events, with
 * stacks of modules and addresses, which are not named yet. Stacks that perf copied (--call-graph
 * dwarf) are unwound with the files that were mapped, as far as those are unchanged on this host.
 */
#ifndef SPROF_PERF_DATA_H
#define SPROF_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* Facts that have no place in the profile. The caller frees the strings. */
struct perf_data_facts {
	char *kernel_symbol;	  /* a symbol of the kernel that ran, or NULL */
	uint64_t kernel_address;  /* of that symbol */
	uint64_t nr_other_events; /* samples of other events, left out */
	uint64_t nr_foreign_stacks; /* stack copies of another architecture, not unwound */
	uint64_t nr_trace_bytes;    /* of hardware traces, left out */
	uint64_t nr_damaged;	  /* records that could not be read */
	bool cut_off;		  /* perf was killed, or the file is incomplete */
};

/* Is this the beginning of a perf.data file? */
bool perf_data_is(const void *data, size_t size);

/*
 * Reads the samples of the event, or, for NULL, of the one with the most samples. 0 and a profile
 * that the caller frees, or -errno, not reported: -EINVAL where nothing can be read, -ENODATA where
 * there are no samples, -ENOENT where there is no such event, -EFBIG where it expands to more than
 * 4 GiB. Files of another 64-bit architecture have the frames that its kernel found.
 */
int perf_data_read(const void *data, size_t size, const char *event,
		   struct perf_data_facts *ret_facts, struct profile **ret_profile);

#endif
