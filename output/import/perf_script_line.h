/* Lines of perf script: the head of a sample, and a frame. Texts point into the line. */
#ifndef SPROF_PERF_SCRIPT_LINE_H
#define SPROF_PERF_SCRIPT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
	const char *s;
	size_t n;
};

/* The first line of a sample. */
struct perf_script_head {
	struct slice comm, event, rest; /* rest: after the event, perhaps a frame */
	uint32_t pid, tid;
	uint16_t cpu;
	bool has_time;
	uint64_t time_ns, period; /* 0: the line does not say */
};

struct perf_script_frame {
	struct slice symbol, file;
	bool in_kernel; /* by its address */
};

/* Without the blanks at both ends. */
struct slice slice_trim(struct slice t);

bool slice_is(struct slice t, const char *s);

/*
 * Parses "comm  pid/tid [cpu] seconds.fraction: period event:", in which the tid, the CPU, the time
 * and the period may be missing.
 */
bool perf_script_parse_head(struct slice line, struct perf_script_head *ret_head);

/* Parses "address symbol+0x1 (file)". */
bool perf_script_parse_frame(struct slice line, struct perf_script_frame *ret_frame);

/* Is the event of a head none that is sampled, but a record: PERF_RECORD_MMAP2? */
bool perf_script_is_record(const struct perf_script_head *head);

#endif
