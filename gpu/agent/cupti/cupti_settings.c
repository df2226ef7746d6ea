/* Old attribute values are read before ours are set. */
#include "gpu/agent/cupti/cupti_settings.h"

#include "gpu/agent/cupti/cupti.h"

/*
 * Host buffers that we zero, and one for all threads: with one for each, threads beyond the number
 * of ours would find none. Takes effect for buffers requested later.
 */
static struct {
	uint32_t attribute;
	size_t size, ours, was; /* was: initially the default in CUPTI's headers */
} attributes[] = {
	{ CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(uint8_t), 1, 0 },
	{ CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof(uint8_t), 0, 1 },
};
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

void cupti_settings_take(void)
{
	if (!cupti.set_attribute)
		return;
	for (size_t i = 0; i < NR_ATTRIBUTES; i++) {
		size_t size = attributes[i].size, was = 0, ours = attributes[i].ours;

		/* little-endian: a one-byte value is the first byte of the size_t */
		if (cupti.get_attribute &&
		    !cupti.get_attribute(attributes[i].attribute, &size, &was))
			attributes[i].was = was;
		size = attributes[i].size;
		cupti.set_attribute(attributes[i].attribute, &size, &ours);
	}
}

void cupti_settings_give_back(void)
{
	for (size_t i = 0; cupti.set_attribute && i < NR_ATTRIBUTES; i++) {
		size_t size = attributes[i].size, was = attributes[i].was, is = attributes[i].ours;

		/* another tool may have set its own meanwhile */
		if (cupti.get_attribute &&
		    !cupti.get_attribute(attributes[i].attribute, &size, &is) &&
		    is != attributes[i].ours)
			continue;
		size = attributes[i].size;
		cupti.set_attribute(attributes[i].attribute, &size, &was);
	}
}
