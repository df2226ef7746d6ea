/* A sink that puts samples into a profile in memory: for live views and tests. */
#ifndef SPROF_MEMORY_SINK_H
#define SPROF_MEMORY_SINK_H

#include "core/profile/source.h"

/* The caller keeps owning the profile, which must outlive the sink. */
struct sink *profile_sink_new(struct profile *p);
void profile_sink_free(struct sink *sink);

#endif
