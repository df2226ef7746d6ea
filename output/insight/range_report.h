/*
 * NVTX ranges as tables: the repeats of each range, and the operators that ranges are named after.
 */
#ifndef SPROF_RANGE_REPORT_H
#define SPROF_RANGE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct profile;

struct range_report_opts {
	uint32_t max_rows; /* 0 = all */
	uint64_t skip;	   /* leave out so many repeats of each range, the first ones */
	bool json;
};

/* Writes Markdown, or JSON. Returns false, with nothing written, if the profile has no ranges. */
bool range_report_write(struct buffer *b, const struct profile *p,
			const struct range_report_opts *opts);

/*
 * Writes a row per operator, for ranges named as PyTorch's emit_nvtx() names them ("aten::addmm,
 * seq = 12, ..."): time on the host and on the GPU, its own and with what it calls. `skip` is not
 * used: the sums are exact.
 */
bool range_report_write_operators(struct buffer *b, const struct profile *p,
				  const struct range_report_opts *opts);

#endif
