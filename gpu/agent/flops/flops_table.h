/*
 * The table gpu_region.flops: calls of mathematical libraries, by function, type, source, stack and
 * range. Any thread may use it, without a lock.
 */
#ifndef SPROF_GPU_AGENT_FLOPS_TABLE_H
#define SPROF_GPU_AGENT_FLOPS_TABLE_H

#include <stdint.h>

struct gpu_flops;
struct shape;

int flops_table_init(void); /* 0 or -ENOMEM */
/* Starts anew after region_forget() has emptied the table. */
void flops_table_forget(void);
/* Changes with flops_table_forget(): what was counted under another number belongs to no one. */
uint32_t flops_table_generation(void);

/* The entry of that key (its sums are ignored); 0 for all that finds no room (counted). */
uint32_t flops_table_entry(const struct gpu_flops *key);
/* Counts a call that ran. */
void flops_table_add(uint32_t entry, const struct shape *shape);
void flops_table_count_failed(uint32_t entry);
void flops_table_count_captured(uint32_t entry);

#endif
