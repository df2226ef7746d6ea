/*
 * The snapshot unwinder of a source that records: what the source's tables have no rule for is
 * unwound by a child without rights, and this process interprets no file.
 */
#ifndef SPROF_SOURCE_UNWINDER_H
#define SPROF_SOURCE_UNWINDER_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/walk/snapshot_unwind.h"

struct sandbox;
struct source_unwinder;

/* The sandbox must outlive the result; NULL: libunwind runs in this process. */
struct source_unwinder *source_unwinder_new(const struct snapshot_ops *ops, void *context,
					    const struct sandbox *sandbox);
/* As snapshot_unwinder_free(), _forget(), _refused() and snapshot_unwind() in snapshot_unwind.h. */
void source_unwinder_free(struct source_unwinder *unwinder);
void source_unwinder_forget(struct source_unwinder *unwinder, uint64_t module);
uint64_t source_unwinder_refused(const struct source_unwinder *unwinder);
struct snapshot_result source_unwind(struct source_unwinder *unwinder,
				     const struct snapshot_sample *sample, uint64_t *frames,
				     size_t max);

#endif
