/*
 * The limits of the kernel side's tables. Each hit is counted, for the recording; the first hit of
 * each limit is reported in words.
 */
#ifndef SPROF_EBPF_LIMITS_H
#define SPROF_EBPF_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum ebpf_limit {
	LIMIT_FILES,	  /* mapped files */
	LIMIT_ROWS,	  /* unwind rows */
	LIMIT_MAPPINGS,	  /* executable mappings of one process */
	LIMIT_MEMORY,	  /* of the arena */
	LIMIT_PROCESSES,  /* that the kernel side knows */
	LIMIT_OPEN_FILES, /* ulimit -n */
	LIMIT_PYTHONS,	  /* interpreters at distinct addresses */
	NR_EBPF_LIMITS
};

struct ebpf_limits {
	uint64_t nr_hits;
	bool warned[NR_EBPF_LIMITS];
};

/* Counts a limit that was hit; the first time the text goes to the log as a warning. */
void ebpf_limit_hit(struct ebpf_limits *limits, enum ebpf_limit limit, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
