/* Sampling by perf events alone: stacks are copied out and unwound in user space. */
#ifndef SPROF_SOURCE_PERF_H
#define SPROF_SOURCE_PERF_H

#include "core/profile/source.h"

extern const struct source_ops source_perf;

#endif
