/* What the header of a perf.data file says beside its records. */
#ifndef SPROF_FEATURES_H
#define SPROF_FEATURES_H

#include "sampler/perf_data/data_file.h"

/* The feature of that number (HEADER_* of tools/perf/util/header.h); those nobody needs do nothing. */
void perf_data_read_feature(struct perf_data_file *f, uint32_t feature, struct cursor bytes);
/* A row of records, each the build-id of a file. */
void perf_data_read_build_ids(struct perf_data_file *f, struct cursor bytes);

#endif
