/*
 * The buffers are CUPTI's, for each context, and last from one recorder to the next; so do the
 * counts. A context per device is assumed.
 */
#include "gpu/agent/cupti/graph_level.h"

#include <stddef.h>

#include "gpu/agent/base/region.h"
#include "gpu/agent/cupti/cupti.h"

/* CUPTI's defaults; 32 bytes of device memory for a record, at most 100 000 in a buffer. */
#define DEFAULT_BUFFERS 250u
#define DEFAULT_BUFFER_BYTES 3200000u
#define RECORD_BYTES 32u
#define MAX_RECORDS 100000u

static uint64_t nr_nodes[GPU_MAX_DEVICES]; /* atomic */
static bool used_up;			   /* atomic */

void graph_level_count(uint32_t device)
{
	if (device < GPU_MAX_DEVICES)
		__atomic_fetch_add(&nr_nodes[device], 1, __ATOMIC_RELAXED);
}

void graph_level_used_up(void)
{
	__atomic_store_n(&used_up, true, __ATOMIC_RELAXED);
}

bool graph_level_is_used_up(void)
{
	return __atomic_load_n(&used_up, __ATOMIC_RELAXED);
}

void graph_level_forget(void)
{
	for (uint32_t i = 0; i < GPU_MAX_DEVICES; i++)
		__atomic_store_n(&nr_nodes[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&used_up, false, __ATOMIC_RELAXED);
}

static size_t attribute(uint32_t attribute, size_t otherwise)
{
	size_t size = sizeof(size_t), value = 0;

	if (!cupti.get_attribute || cupti.get_attribute(attribute, &size, &value) || !value)
		return otherwise;
	return value;
}

/* Four fifths of the records that the device buffers of a context hold. */
static uint64_t limit(void)
{
	size_t buffers = attribute(CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, DEFAULT_BUFFERS);
	size_t records =
		attribute(CUPTI_ATTR_DEVICE_BUFFER_SIZE, DEFAULT_BUFFER_BYTES) / RECORD_BYTES;

	return (uint64_t)buffers * (records < MAX_RECORDS ? records : MAX_RECORDS) * 4 / 5;
}

bool graph_level_is_due(void)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < GPU_MAX_DEVICES; i++) {
		uint64_t nr = __atomic_load_n(&nr_nodes[i], __ATOMIC_RELAXED);

		most = nr > most ? nr : most;
	}
	return most && (graph_level_is_used_up() || most >= limit());
}
