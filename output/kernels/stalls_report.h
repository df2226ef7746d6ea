/*
 * Where inside kernels warps were found, and why they did not go on, as sprof record --pc-sampling
 * sampled it: a table made from FACT_GPU_PC (core/profile/gpu_kinds.h).
 */
#ifndef SPROF_STALLS_REPORT_H
#define SPROF_STALLS_REPORT_H

#include <stdbool.h>

struct buffer;
struct grid_report_opts;
struct profile;

/*
 * The kernel with most samples first, and its places in the same order. Returns false, with nothing
 * written, if the profile has no such samples.
 */
bool stalls_report_write(struct buffer *b, const struct profile *p,
			 const struct grid_report_opts *opts);

#endif
