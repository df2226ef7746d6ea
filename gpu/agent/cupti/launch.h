/* From a correlation id to the call that it was given to: its stack, thread and range. */
#ifndef SPROF_GPU_AGENT_LAUNCH_H
#define SPROF_GPU_AGENT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct launch_info {
	uint32_t stack, range, tid;
};

int launch_init(void); /* 0 or -ENOMEM */
/* At the call's exit, by its thread. */
void launch_note(uint32_t correlation, const struct launch_info *info);
/* false where the call was not seen, or was forgotten: 2^19 later ones have been noted. */
bool launch_find(uint32_t correlation, struct launch_info *ret);

#endif
