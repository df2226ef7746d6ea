/*
 * What GPUs did, as tables: what ran on them, which calls of the API were made, what was copied.
 * All of it is counted, not sampled, and comes from the facts of a profile (core/profile/facts.h).
 */
#ifndef SPROF_GPU_REPORT_H
#define SPROF_GPU_REPORT_H

#include <stdbool.h>

struct buffer;
struct grid_report_opts;
struct profile;

enum gpu_report_table {
	GPU_REPORT_WORK,   /* kernels, copies, fills and graphs, most time first */
	GPU_REPORT_API,	   /* calls, most time first */
	GPU_REPORT_COPIES, /* copies and fills, with rates */
};

/* Returns false, with nothing written, if the profile has no such facts. */
bool gpu_report_write(struct buffer *b, const struct profile *p, enum gpu_report_table table,
		      const struct grid_report_opts *opts);

/* Appends what was lost or failed: as text, one line each; and as a member of a JSON object. */
void gpu_report_add_trust(struct buffer *b, const struct profile *p);
void gpu_report_add_trust_json(struct buffer *b, const struct profile *p);

#endif
