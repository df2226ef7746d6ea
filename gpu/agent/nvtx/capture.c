/*
 * A window is open as long as capture.nr_open, the number of ranges or profiler calls that hold it
 * open, is not 0. An end that is missed keeps it above 0 only until the next collection starts.
 */
#include "gpu/agent/nvtx/capture.h"

#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/nvtx/range.h"

struct capture capture;

static uint32_t whole, name, domain; /* strings: config's NAME@DOMAIN, and its parts */
static bool has_domain;
static uint32_t latest; /* atomic: the last window opened */

static struct gpu_window *window_at(uint32_t i)
{
	return &agent.region->windows[gpu_window_place(i)];
}

static void read_name(void)
{
	char text[sizeof(agent.region->capture_name)];
	char *at;

	memcpy(text, agent.region->capture_name, sizeof(text));
	text[sizeof(text) - 1] = 0;
	whole = arena_cstring(text);
	at = strrchr(text, '@');
	has_domain = at != NULL;
	if (!at)
		return;
	*at = 0;
	name = arena_cstring(text);
	domain = arena_cstring(at + 1);
}

void capture_begin(void)
{
	const struct gpu_config *c = &agent.region->config;

	if (c->capture == GPU_CAPTURE_RANGE)
		read_name();
	__atomic_store_n(&capture.nr_open, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.region->nr_windows, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&capture.kind, c->capture, __ATOMIC_RELAXED);
}

void capture_end(void)
{
	if (capture_kind() && __atomic_exchange_n(&capture.nr_open, 0, __ATOMIC_ACQ_REL))
		window_at(latest)->end_ns = clock_now_ns();
}

static void new_window(void)
{
	uint32_t i = __atomic_load_n(&agent.region->nr_windows, __ATOMIC_RELAXED);

	window_at(i)->end_ns = 0;
	window_at(i)->start_ns = clock_now_ns();
	__atomic_store_n(&latest, i, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.region->nr_windows, i + 1, __ATOMIC_RELEASE);
}

/* True if a window may be opened: with capture_once only the first. */
static bool may_open(void)
{
	return !agent.region->config.capture_once ||
	       !__atomic_load_n(&agent.region->nr_windows, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&capture.nr_open, __ATOMIC_ACQUIRE);
}

static void add_opener(void)
{
	if (!__atomic_fetch_add(&capture.nr_open, 1, __ATOMIC_ACQ_REL))
		new_window();
}

void capture_close(void)
{
	uint32_t window = __atomic_load_n(&latest, __ATOMIC_RELAXED);
	uint32_t nr = __atomic_load_n(&capture.nr_open, __ATOMIC_ACQUIRE);

	do
		if (!nr)
			return; /* collecting has ended in between */
	while (!__atomic_compare_exchange_n(&capture.nr_open, &nr, nr - 1, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
	if (nr == 1)
		__atomic_store_n(&window_at(window)->end_ns, clock_now_ns(), __ATOMIC_RELEASE);
}

bool capture_call(uint32_t api_domain, uint32_t api_class)
{
	bool is_open = capture_is_open();

	if (capture_kind() != GPU_CAPTURE_PROFILER_API || api_domain != GPU_API_DRIVER)
		return is_open;
	if (api_class == GPU_API_PROFILER_START && !is_open && may_open()) {
		add_opener();
		return true;
	}
	if (api_class == GPU_API_PROFILER_STOP && is_open)
		capture_close();
	return is_open;
}

bool capture_open(const struct range_event *e)
{
	if (capture_kind() != GPU_CAPTURE_RANGE || !may_open())
		return false;
	if (e->name != whole && !(has_domain && e->name == name && e->domain == domain))
		return false;
	add_opener();
	return true;
}
