/* What is known of a recording when sampling starts. */
#ifndef SPROF_RECORDING_META_H
#define SPROF_RECORDING_META_H

#include <sys/utsname.h>

#include "core/recording/recfile.h"

struct record_opts;

/* The strings of `ret_meta` are those of opts, of `event`, and of *host, which is filled here. */
void recording_meta(const struct record_opts *opts, const char *source, const char *event,
		    struct utsname *host, struct recfile_meta *ret_meta);

#endif
