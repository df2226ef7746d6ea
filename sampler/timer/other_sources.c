/*
 * Asks each of the other sources whether it works here and suits the process. A source that
 * "auto" has just passed over is not suggested again.
 */
#include "sampler/timer/other_sources.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/source.h"
#include "sampler/inject/reason.h"

static bool would_sample(const struct source_ops *ops, const struct source_config *config)
{
	char why[256], hint[256];

	return strcmp(ops->name, "timer") && ops->probe(why, sizeof(why), hint, sizeof(hint)) &&
	       (!ops->fit || ops->fit(config, why, sizeof(why)) != SOURCE_CANNOT);
}

/* "ebpf or perf", or "" */
static void name_others(struct buffer *names, const struct source_config *config)
{
	for (const struct source_ops *const *ops = config->sources; ops && *ops; ops++)
		if (would_sample(*ops, config))
			buffer_printf(names, "%s%s", names->size ? " or " : "", (*ops)->name);
}

void other_sources_hint(const struct inject_reason *reason, pid_t pid,
			const struct source_config *config, char *hint, size_t size)
{
	struct source_config asked = *config;
	struct buffer names = { 0 };

	asked.pids = &pid;
	asked.nr_pids = 1;
	if (reason->only_outside)
		name_others(&names, &asked);
	if (names.size)
		snprintf(hint, size, "%s%suse --source %s", reason->hint,
			 reason->hint[0] ? ", or " : "", buffer_cstring(&names));
	else if (reason->only_outside && !reason->hint[0])
		snprintf(hint, size,
			 "only a source that looks from outside can sample it: sprof doctor says "
			 "what ebpf and perf lack here");
	else
		snprintf(hint, size, "%s", reason->hint);
	buffer_fini(&names);
}
