/* The region's table of samples of program counters: struct gpu_pc_row. One caller at a time. */
#ifndef SPROF_GPU_AGENT_PC_ROWS_H
#define SPROF_GPU_AGENT_PC_ROWS_H

#include <stdint.h>

#include "gpu/agent/base/records.h"

int pc_rows_init(void); /* 0 or -ENOMEM */
void pc_rows_forget(void);
/* The row of a key (cubin, pc, function, stall, stack, range); NULL where there is no room. */
struct gpu_pc_row *pc_rows_find(const struct gpu_pc_row *key);
/* Row i, or NULL beyond those in use. */
struct gpu_pc_row *pc_rows_at(uint32_t i);

#endif
