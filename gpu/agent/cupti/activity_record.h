/* Reads one of CUPTI's activity records: converts it to the region's form, or updates a device. */
#ifndef SPROF_GPU_AGENT_ACTIVITY_RECORD_H
#define SPROF_GPU_AGENT_ACTIVITY_RECORD_H

#include <stddef.h>
#include <stdint.h>

/*
 * One caller at a time. `size` is what the record takes in the buffer: newer versions are longer.
 */
void activity_record(const void *record, size_t size);
/* CUPTI has dropped records. */
void activity_record_drops(uint64_t nr, uint32_t stream);

#endif
