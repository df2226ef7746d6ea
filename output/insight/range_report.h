/* NVTX ranges as tables: the repeats of each, and the operators that their names tell of. */
#ifndef SPROF_RANGE_REPORT_H
#define SPROF_RANGE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct profile;

struct range_report_opts {
	uint32_t max_rows; /* 0 = all */
	uint64_t skip;	   /* repeats of each range that are left out, the first ones */
	bool json;
};

/* Markdown, or JSON. False, with nothing written, where the profile has no ranges. */
bool range_report_write(struct buffer *b, const struct profile *p,
			const struct range_report_opts *opts);

/*
 * By operator, for ranges named as PyTorch's emit_nvtx() does ("aten::addmm, seq = 12, ..."): time on
 * the host and on the GPU, in itself and with what it calls. `skip` is not used: the sums are exact.
 */
bool range_report_write_operators(struct buffer *b, const struct profile *p,
				  const struct range_report_opts *opts);

#endif
