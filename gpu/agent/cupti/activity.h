/* CUPTI's buffers of activity records, and what becomes of the records in them. */
#ifndef SPROF_GPU_AGENT_ACTIVITY_H
#define SPROF_GPU_AGENT_ACTIVITY_H

#include <stdbool.h>

#include "gpu/agent/cupti/cupti_abi.h"

/* Maps the buffers, once. 0 or -ENOMEM. */
int activity_init(void);

/* cupti_buffer_requested_fn and cupti_buffer_completed_fn: from any thread; neither blocks. */
void activity_request(uint8_t **buffer, size_t *size, size_t *max_records);
void activity_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		       size_t valid_size);
/*
 * Looks again for the calls of records that came before their call had ended; with `last`, those
 * without a call are counted and kept without a stack.
 */
void activity_settle(bool last);

#endif
