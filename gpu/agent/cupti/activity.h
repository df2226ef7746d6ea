/* The buffers that CUPTI fills with activity records: handed out, taken back, read. */
#ifndef SPROF_GPU_AGENT_ACTIVITY_H
#define SPROF_GPU_AGENT_ACTIVITY_H

#include <stdbool.h>

#include "gpu/agent/cupti/cupti_abi.h"

/* Maps the buffers, once: only processes that use CUDA pay for them. 0 or -ENOMEM. */
int activity_init(void);

/* A cupti_buffer_requested_fn and a cupti_buffer_completed_fn: from any thread, never blocking. */
void activity_request(uint8_t **buffer, size_t *size, size_t *max_records);
void activity_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		       size_t valid_size);
/* Says whether records are read or dropped: CUPTI may deliver some after we have detached. */
void activity_read(bool wanted);
/*
 * Looks again for the calls of records that came before their call had ended. With `last`, records
 * whose call is still unknown are counted and kept without a stack.
 */
void activity_settle(bool last);

#endif
