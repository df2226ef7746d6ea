/* What the header of a recording says of it: what is known when sampling starts. */
#ifndef SPROF_RECORDING_META_H
#define SPROF_RECORDING_META_H

#include <sys/utsname.h>

#include "core/recording/recfile.h"

struct record_opts;

/* Fills *host and *ret_meta, whose strings point into opts, `source`, `event` and *host. */
void recording_meta(const struct record_opts *opts, const char *source, const char *event,
		    struct utsname *host, struct recfile_meta *ret_meta);

#endif
