/*
 * Parses one sample of a perf.data file. Its fields are those that its event asked for.
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
	uint64_t user_end; /* user addresses are below */
	bool in_kernel;
	uint64_t kernel[MAX_KERNEL_FRAMES]; /* leaf first, the leaf exact; return addresses */
	uint64_t user[MAX_USER_FRAMES];	    /* leaf first, FRAME_EXACT or return addresses */
	size_t nr_kernel, nr_user;
	size_t gap; /* user frames were dropped after user[gap - 1]; 0: none were */
	/* A copy of the user stack and the registers at that time; stack NULL: there is no copy. */
	uint64_t abi; /* enum perf_sample_regs_abi */
	uint64_t pc, gpr[WALK_NR_REGS];
	bool all_regs;	      /* all of REGISTERS_PERF_MASK are there */
	const uint8_t *stack; /* from the stack pointer on; points into the record */
	size_t stack_size;
	bool has_foreign_stack; /* a copy of another architecture's stack, which is skipped */
};

/* The event of a sample's record; NULL where the file has no such event. */
const struct perf_data_event *perf_data_sample_event(const struct perf_data_file *f,
						     const struct perf_data_record *r);

/* false for a sample that is too short for its event, or of an unknown event. */
bool perf_data_sample_parse(const struct perf_data_file *f, const struct perf_data_record *r,
			    struct perf_data_sample *ret_sample);

#endif
