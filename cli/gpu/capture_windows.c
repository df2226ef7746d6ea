/* The target may write anything at any time: counts are bounded, and times are only compared. */
#include "cli/gpu/capture_windows.h"

#include "gpu/region/link.h"

bool capture_windows_hold(const struct gpu_region *r, uint64_t time_ns)
{
	uint32_t nr = __atomic_load_n(&r->nr_windows, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr && i < GPU_MAX_WINDOWS; i++) {
		uint64_t start = __atomic_load_n(&r->windows[i].start_ns, __ATOMIC_RELAXED);
		uint64_t end = __atomic_load_n(&r->windows[i].end_ns, __ATOMIC_RELAXED);

		if (time_ns >= start && (!end || time_ns < end))
			return true;
	}
	return false;
}

bool capture_windows_first_ended(const struct gpu_region *r)
{
	return __atomic_load_n(&r->nr_windows, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&r->windows[0].end_ns, __ATOMIC_ACQUIRE);
}
