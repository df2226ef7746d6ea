/*
 * Features of a perf.data file: sections after the records that describe the host, the command, the
 * events and the build-ids. They are stored in struct perf_data_file.
 */
#ifndef SPROF_FEATURES_H
#define SPROF_FEATURES_H

#include "sampler/perf_data/data_file.h"

/* Reads the feature with that number (HEADER_* of tools/perf/util/header.h); most are ignored. */
void perf_data_read_feature(struct perf_data_file *f, uint32_t feature, struct cursor bytes);
/* Reads build-id records, one after the other. */
void perf_data_read_build_ids(struct perf_data_file *f, struct cursor bytes);

#endif
