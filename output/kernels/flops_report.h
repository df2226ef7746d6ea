/*
 * The operations that mathematical libraries were asked for, as a table: how many, in what time,
 * and how near to the peak of the GPU (core/profile/gpu_kinds.h).
 */
#ifndef SPROF_FLOPS_REPORT_H
#define SPROF_FLOPS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct grid_report_opts;
struct profile;

/* What rows can be, for --flops=WHAT: "function", "line", ... */
bool flops_report_is_row(const char *name);

/*
 * Most operations first. `rows` is one of these names, or NULL for "function". False, with nothing
 * written, if the profile has no counted operations.
 */
bool flops_report_write(struct buffer *b, const struct profile *p, const char *rows,
			const struct grid_report_opts *opts);

/* ---- the rows, without their text */
enum flops_by {
	FLOPS_BY_FUNCTION, /* that made the call */
	FLOPS_BY_LINE,	   /* the innermost line of the program's own code, where it is known */
	FLOPS_BY_OPERATOR,
	FLOPS_BY_RANGE, /* with those inside it */
	FLOPS_BY_CALL,	/* of the library */
	FLOPS_BY_KERNEL,
	NR_FLOPS_BY
};

struct flops_row {
	char *name;
	unsigned __int128 flops; /* by kernel: the calls' operations, shared by time */
	uint64_t calls;		 /* with a known number of operations; by kernel: launches */
	uint64_t unknown, failed, captured, saturated; /* other calls; `saturated` are in `calls` */
	uint64_t gpu_ns;			       /* of the kernels of all calls */
	uint64_t counted_ns;			       /* of the kernels of `calls` */
	double ideal_ns;    /* what counted_ns would be at the peak rate */
	bool has_peak;	    /* the peak is known for all of counted_ns */
	uint32_t types;	    /* bits: 1 << enum gpu_flops_type */
	struct buffer from; /* "cublasSgemm_v2 arguments, cuDNN plan" */
};

struct flops_rows {
	struct flops_row *list; /* most operations first */
	size_t nr, capacity;
};

void flops_rows_init(struct flops_rows *rows, const struct profile *p, enum flops_by by);
void flops_rows_fini(struct flops_rows *rows);

#endif
