/*
 * One sample of a perf.data file: its fields are those that the event asked for, in the kernel's order.
 * Source: include/uapi/linux/perf_event.h, PERF_RECORD_SAMPLE.
 */
#ifndef SPROF_SAMPLE_RECORD_H
#define SPROF_SAMPLE_RECORD_H

#include "core/portable/walk.h"
#include "core/portable/frames.h"
#include "sampler/perf_data/data_file.h"

struct perf_data_sample {
	const struct perf_data_event *event;
	bool has_thread;
	uint32_t pid, tid, cpu;
	uint64_t ip, time_ns, period;
	bool in_kernel;
	uint64_t kernel[MAX_KERNEL_FRAMES]; /* leaf first, the leaf exact; return addresses */
	uint64_t user[MAX_USER_FRAMES];	    /* leaf first, FRAME_EXACT or return addresses */
	size_t nr_kernel, nr_user;
	size_t gap; /* user frames were cut after user[gap - 1]; 0: nowhere */
	/* A copy of the user's stack, with the registers it goes with; stack NULL: there is none. */
	uint64_t abi; /* enum perf_sample_regs_abi */
	uint64_t pc, gpr[WALK_NR_REGS];
	bool all_regs;
	const uint8_t *stack;
	size_t stack_size;
};

/* false for a sample that contradicts its event, or is of no event of the file's. */
bool perf_data_sample_parse(const struct perf_data_file *f, const struct perf_data_record *r,
			    struct perf_data_sample *ret_sample);

#endif
