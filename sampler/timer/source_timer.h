/* The timer source: timer signals inside the targets take the samples. */
#ifndef SPROF_SOURCE_TIMER_H
#define SPROF_SOURCE_TIMER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/profile/source.h"

extern const struct source_ops source_timer;

/*
 * What the launched program needs in its environment to find this source: strings NAME=VALUE, then
 * NULL; they belong to the source. For the time between open() and start().
 */
const char *const *source_timer_environment(const struct source *source);

struct timer_way {
	bool prearmed; /* libsprof.so is in it and listens: no ptrace is needed */
	bool ok;
	const char *seccomp; /* its filters: "none", "read", "shared" (sprof's own), "unknown" */
	char why[256],
		hint[256]; /* if not: the reason, and what fixes it ("" where nothing does) */
};

/*
 * Can this source sample a process that runs already, and how? Does nothing to the process. The
 * hint names those of `sources` that could instead, as in struct source_config.
 */
void source_timer_probe_process(pid_t pid, const struct source_ops *const *sources,
				struct timer_way *ret_way);

#endif
