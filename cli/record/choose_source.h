/* Chooses the source with which sprof record takes samples. */
#ifndef SPROF_CHOOSE_SOURCE_H
#define SPROF_CHOOSE_SOURCE_H

#include "core/profile/source.h"

struct record_opts;

/* What the options ask of a source, without what the recorder adds, such as the sandbox. */
struct source_config record_source_config(const struct record_opts *opts);

/*
 * Returns the source that was asked for, or with "auto" the first that works here and suits the
 * targets, and warns of what it leaves out. NULL: no source works, reported. *ret_runtime: the
 * runtime of the targets, for the source's config.
 */
const struct source_ops *record_source_choose(const struct record_opts *opts,
					      enum source_runtime *ret_runtime);

#endif
