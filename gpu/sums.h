/*
 * The sums that the target keeps of everything the GPU ran, by what, where and from which stack.
 * They only grow; each growth goes into the sink as samples of the GPU columns, and the totals as
 * facts. So the samples of COLUMN_GPU add up to exactly what the target has summed. The same holds
 * for samples inside kernels and COLUMN_GPU_SAMPLES.
 */
#ifndef SPROF_GPU_SUMS_H
#define SPROF_GPU_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"

struct fact_gpu_flops;
struct fact_gpu_flops_work;
struct fact_gpu_pc;
struct fact_gpu_work;
struct flops;
struct gpu_fold;
struct names;
struct pc_row_state;
struct stack_builder;

/* What of one entry of the region is in the sink already. */
struct sum_state {
	uint64_t count, total_ns, bytes;
	uint32_t stack; /* of the sink */
	uint32_t work;	/* index in works[] */
	uint32_t known; /* 0: nothing yet */
};

/* What was launched in a range itself, not in a range inside it. */
struct range_sum {
	uint64_t gpu_ns, launches;
};

struct sums {
	struct names *names;
	struct stack_builder *builder;
	struct flops *flops;	  /* gets the kernels of mathematical libraries */
	struct sum_state *states; /* by index in the region */
	size_t nr_states, states_capacity;
	struct fact_gpu_work *works;
	uint64_t *written; /* by work: calls when its fact was last written */
	size_t nr_works, works_capacity, written_capacity;
	struct range_sum *ranges; /* by range of the region */
	size_t nr_ranges, ranges_capacity;
	struct number_map work_index; /* by a hash of the key */
	uint64_t nr_refused;	      /* entries that shrank or jumped: untrusted */
};

/* Sums of samples inside kernels: kernel_samples.c. */
struct kernel_samples {
	struct names *names;
	struct stack_builder *builder;
	struct pc_row_state *states; /* by row of the region */
	size_t nr_states, states_capacity;
	struct fact_gpu_pc *facts; /* rows of several launch stacks are one */
	size_t nr_facts, facts_capacity;
	struct number_map fact_index; /* by a hash of the key */
	uint64_t nr_refused;	      /* rows that shrank or jumped: untrusted */
};

/*
 * `is_last`: rows whose source line has not been looked up by now are written without it; else they
 * are left for later.
 */
void kernel_samples_flush(struct kernel_samples *k, uint64_t now_ns, bool is_last);
void kernel_samples_fini(struct kernel_samples *k);

void sums_flush(struct sums *s, uint64_t now_ns);
void sums_fini(struct sums *s);

/*
 * The calls of mathematical libraries that the target counts (flops.c), and the kernels that they
 * launched. A row is written again whenever it has changed.
 */
struct flops {
	struct names *names;
	struct stack_builder *builder;
	struct fact_gpu_flops *rows; /* as they were written, by entry of the region */
	size_t nr_rows, rows_capacity;
	struct fact_gpu_flops_work *works;
	uint64_t *written; /* by work: launches when its fact was last written */
	size_t nr_works, works_capacity, written_capacity;
	struct number_map work_index; /* by a hash of the key */
	uint64_t nr_refused;	      /* entries that shrank or make no sense: untrusted */
};

/* Kernels of a fold of the region whose launches belong to a call: so many more, and their time. */
void flops_add_work(struct flops *f, const struct gpu_fold *fold, uint64_t launches, uint64_t ns);
void flops_flush(struct flops *f);
void flops_fini(struct flops *f);

#endif
