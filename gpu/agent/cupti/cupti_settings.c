/*
 * Old attribute values are read before ours are set. The clock cannot be read: what is put back is
 * CLOCK_REALTIME, CUPTI's default.
 */
#include "gpu/agent/cupti/cupti_settings.h"

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/activity_keep.h"
#include "gpu/agent/cupti/cupti.h"

/* Few buffers on the device; host buffers that we zero. Takes effect for contexts made later. */
static struct {
	uint32_t attribute;
	size_t size, ours, was; /* was: initially the default in CUPTI's headers */
} attributes[] = {
	{ CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(size_t), 8, 250 },
	{ CUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE, sizeof(size_t), 2, 3 },
	{ CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(uint8_t), 1, 0 },
};
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static bool has_clock;

static void take_attributes(void)
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

static void take_clock(void)
{
	int err = cupti.register_timestamp ? cupti.register_timestamp(clock_now_ns) : -1;

	has_clock = !err;
	activity_set_clock(has_clock);
	if (err)
		report_words(
			GPU_FAIL_CLOCK, err > 0 ? (uint32_t)err : 0,
			"CUPTI keeps its own clock: GPU times are converted from CLOCK_REALTIME");
}

void cupti_settings_take(void)
{
	take_clock();
	take_attributes();
}

void cupti_settings_give_back(void)
{
	for (size_t i = 0; cupti.set_attribute && i < NR_ATTRIBUTES; i++) {
		size_t size = attributes[i].size, was = attributes[i].was;

		cupti.set_attribute(attributes[i].attribute, &size, &was);
	}
	/* NULL is refused; this is the clock that CUPTI uses by default */
	if (has_clock)
		cupti.register_timestamp(clock_realtime_ns);
	has_clock = false;
}
