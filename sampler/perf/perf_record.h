/*
 * Parses the records of perf rings: PERF_RECORD_* of include/uapi/linux/perf_event.h. The events
 * have sample_id_all set and the sample_type PERF_RECORD_SAMPLE_TYPE, with a call chain where the
 * kernel may be sampled. The bytes are not trusted.
 */
#ifndef SPROF_PERF_RECORD_H
#define SPROF_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/perf_event.h>

#include "core/portable/walk.h"
#include "core/portable/frames.h"

/* These are also the last 24 bytes of every record that is not a sample. */
#define PERF_RECORD_IDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define PERF_RECORD_SAMPLE_TYPE                                                                    \
	(PERF_RECORD_IDS | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |           \
	 PERF_SAMPLE_STACK_USER)

/* Kernel frames that one sample may bring; more are an error. */
#define PERF_RECORD_MAX_CHAIN 1024

enum perf_record_type {
	PERF_SAMPLE_TAKEN = 1,
	PERF_MAPPED,
	PERF_NAMED, /* a thread has a new name, from exec or prctl(2) */
	PERF_FORKED,
	PERF_EXITED,
	PERF_DROPPED,
	PERF_THROTTLED,
	PERF_SWITCHED, /* a thread got a CPU or lost it */
};

struct perf_sample {
	uint64_t period;
	bool in_kernel;
	uint64_t abi; /* enum perf_sample_regs_abi; a kernel thread has PERF_SAMPLE_REGS_ABI_NONE */
	uint64_t pc;
	uint64_t gpr[WALK_NR_REGS]; /* DWARF order */
	size_t nr_kernel;
	uint64_t kernel[MAX_KERNEL_FRAMES]; /* leaf first, the leaf exact */
	const uint8_t *stack;		    /* from the stack pointer on; points into the record */
	size_t stack_size;
};

struct perf_record {
	enum perf_record_type type;
	pid_t pid, tid;
	uint64_t time_ns;
	uint16_t cpu;
	struct perf_sample sample; /* PERF_SAMPLE_TAKEN */
	/* PERF_MAPPED; only executable mappings are reported */
	uint64_t start, length, pgoff, dev, ino;
	const char *path;	      /* NUL-terminated; points into the record */
	bool is_exec;		      /* PERF_NAMED */
	char comm[COMM_SIZE];	      /* PERF_NAMED; filled with NUL */
	pid_t parent_pid, parent_tid; /* PERF_FORKED */
	uint64_t nr_lost;	      /* PERF_DROPPED */
	/* PERF_SWITCHED: lost it; and would have run on */
	bool is_out, is_preempted;
};

/*
 * Parses a record with `size` bytes after its header. `has_chain`: samples carry
 * PERF_SAMPLE_CALLCHAIN. false for types that are not used, and for records that are not
 * consistent.
 */
bool perf_record_parse(const struct perf_event_header *header, const uint8_t *body, size_t size,
		       bool has_chain, struct perf_record *ret_record);

#endif
