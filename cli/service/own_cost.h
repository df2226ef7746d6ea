/*
 * What recording costs: CPU time of this process and of those that it has started, of its BPF
 * programs as the kernel counts it, and memory.
 */
#ifndef SPROF_OWN_COST_H
#define SPROF_OWN_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sink;
struct source;
struct source_ops;

struct own_cost {
	uint64_t cpu_ns;
	uint64_t kernel_ns; /* of BPF programs */
	bool kernel_known;
	uint64_t memory_bytes, peak_bytes; /* of this process: resident now, and at most so far */
};

/* What is measured. The program that sprof started to sample it does not count. */
struct own_parts {
	const struct source_ops *ops;
	const struct source *source;
	pid_t program;		       /* 0: none */
	const uint64_t *program_ended; /* its CPU time, ns, once it has been waited for; else 0 */
};

/* The cost since this process has begun. CPU time never goes back from one call to the next. */
void own_cost_read(const struct own_parts *parts, struct own_cost *cost);
/* Records what was spent between `from` and `to`, read at start_ns and end_ns, in the sink. */
void own_cost_tell(const struct own_cost *from, const struct own_cost *to, uint64_t start_ns,
		   uint64_t end_ns, struct sink *sink);

#endif
