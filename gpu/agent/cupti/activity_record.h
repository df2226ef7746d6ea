/* From one of CUPTI's records to the region's: folded, and put into the ring of activities. */
#ifndef SPROF_GPU_AGENT_ACTIVITY_RECORD_H
#define SPROF_GPU_AGENT_ACTIVITY_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* All of these: one caller at a time. `size`: bytes that belong to the record. */
void activity_record(const void *record, size_t size);
void activity_record_drops(uint64_t nr, uint32_t stream);

#endif
