/* From a correlation id to the call that CUPTI gave it to: its stack, range, thread and start. */
#ifndef SPROF_GPU_AGENT_LAUNCH_H
#define SPROF_GPU_AGENT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct launch_info {
	uint32_t stack, range, tid;
	uint64_t start_ns;
};

int launch_init(void); /* 0 or -ENOMEM */
/* Called at the call's exit, by its thread. */
void launch_note(uint32_t correlation, const struct launch_info *info);
/* False if the call was not seen, or 2^19 later calls have been noted since. */
bool launch_find(uint32_t correlation, struct launch_info *ret);

#endif
