/*
 * Software events (cpu-clock) fire after a fixed period of ns, whose length is varied a little
 * (cpu_events_jitter); hardware cycles fire at a frequency that the kernel keeps, of elapsed time:
 * a CPU that is idle in between has as many samples as a busy one. The BPF program takes the
 * sample; the ring of each event holds nothing but the kernel's reports of throttling.
 */
#include "sampler/ebpf/cpu_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cpus.h"
#include "sampler/events/throttle_ring.h"

#define JITTER_NS (2000ull * 1000 * 1000)
#define JITTER_PERCENT 3

struct cpu_event {
	int fd;
	struct perf_event_mmap_page *ring;
};

struct cpu_events {
	struct cpu_event *events;
	size_t nr;
	bool hardware;
	uint32_t freq_hz;
	uint64_t period_ns, next_jitter_ns;
};

static int open_event(const struct cpu_events *e, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = e->period_ns,
		.disabled = 1,
		.exclude_idle = 1,
	};
	int fd;

	if (e->hardware) {
		attr.exclude_idle = 0; /* an idle CPU has no cycles, and some PMUs refuse it */
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
		attr.freq = 1;
		attr.sample_freq = e->freq_hz;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int cpu_events_new(const char *event, uint32_t freq_hz, struct cpu_events **ret_events)
{
	struct cpu_events *e = xcalloc(1, sizeof(*e));

	e->freq_hz = freq_hz;
	e->period_ns = 1000000000u / freq_hz;
	e->hardware = !strcmp(event, "cycles");
	if (e->hardware) {
		int fd = open_event(e, 0);

		if (fd < 0) {
			free(e);
			return -EOPNOTSUPP;
		}
		close(fd);
	}
	*ret_events = e;
	return 0;
}

void cpu_events_free(struct cpu_events *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->nr; i++) {
		throttle_ring_unmap(e->events[i].ring);
		close(e->events[i].fd);
	}
	free(e->events);
	free(e);
}

const char *cpu_events_name(const struct cpu_events *e)
{
	return e->hardware ? "cycles" : "cpu-clock";
}

uint64_t cpu_events_period_ns(const struct cpu_events *e)
{
	return e->period_ns;
}

int cpu_events_set_rate(struct cpu_events *e, uint32_t freq_hz)
{
	uint64_t value;
	int err = 0;

	e->freq_hz = freq_hz;
	e->period_ns = 1000000000u / freq_hz;
	value = e->hardware ? freq_hz : e->period_ns;
	for (size_t i = 0; i < e->nr; i++)
		if (ioctl(e->events[i].fd, PERF_EVENT_IOC_PERIOD, &value))
			err = -errno;
	return err;
}

int cpu_events_open(struct cpu_events *e, int program_fd)
{
	size_t nr;
	int *cpus, err;

	err = cpus_online(&cpus, &nr);
	if (err)
		return err;
	e->events = xcalloc(nr, sizeof(*e->events));
	for (size_t i = 0; i < nr && !err; i++) {
		struct cpu_event *event;
		int fd = open_event(e, cpus[i]);

		if (fd == -ENODEV) /* went offline just now */
			continue;
		if (fd < 0) {
			err = fd;
			break;
		}
		event = &e->events[e->nr++];
		event->fd = fd;
		event->ring = throttle_ring_map(fd);
		if (!event->ring || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd))
			err = -errno;
	}
	free(cpus);
	return err;
}

int cpu_events_enable(struct cpu_events *e)
{
	for (size_t i = 0; i < e->nr; i++)
		if (ioctl(e->events[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

void cpu_events_disable(struct cpu_events *e)
{
	for (size_t i = 0; i < e->nr; i++)
		ioctl(e->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void cpu_events_jitter(struct cpu_events *e, uint64_t now_ns)
{
	if (e->hardware || now_ns < e->next_jitter_ns)
		return;
	e->next_jitter_ns = now_ns + JITTER_NS;
	for (size_t i = 0; i < e->nr; i++) {
		uint64_t span = e->period_ns * JITTER_PERCENT / 100;
		uint64_t period = e->period_ns - span + (uint64_t)random() % (2 * span + 1);

		/* This restarts the period on that CPU, so it also staggers the CPUs. */
		ioctl(e->events[i].fd, PERF_EVENT_IOC_PERIOD, &period);
	}
}

uint64_t cpu_events_read_throttles(struct cpu_events *e)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < e->nr; i++)
		nr += throttle_ring_read(e->events[i].ring);
	return nr;
}
