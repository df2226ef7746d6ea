/*
 * Each event is opened once per CPU, for all tasks: events of a task would slow every switch to it.
 * So a period counts what all tasks do, and the BPF program leaves out what is not the targets'; a
 * sample of a target stands for as many events as its period says, on average. A tracepoint is
 * opened once, because its program runs on every CPU, at every event, and counts periods itself.
 */
#include "sampler/events/counted_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/cpus.h"
#include "core/base/log.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "sampler/events/find_event.h"
#include "sampler/events/throttle_ring.h"

/* One event on one CPU. */
struct opened {
	int fd;		       /* -1: it belongs to the link */
	int times;	       /* another descriptor, to read how long it counted; -1: none */
	uint32_t number;       /* of the event */
	struct bpf_link *link; /* NULL: not attached */
	struct perf_event_mmap_page *ring;
};

struct counted_events {
	struct found_event found[NR_EVENT_COLUMNS + 1];
	uint64_t periods[NR_EVENT_COLUMNS + 1];
	uint32_t nr; /* behind them: faults for growth, if `growth` */
	bool growth;
	struct opened *opened;
	size_t nr_opened, capacity;
	bool told; /* the sink knows the names */
};

static int open_event(const struct found_event *found, uint64_t period, uint32_t freq_hz, int cpu)
{
	struct perf_event_attr attr = {
		.type = found->type,
		.size = sizeof(attr),
		.config = found->config,
		.config1 = found->config1,
		.config2 = found->config2,
		.sample_period = period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_user = found->exclude_user,
		.exclude_kernel = found->exclude_kernel,
	};
	int fd;

	if (!period) {
		attr.freq = 1;
		attr.sample_freq = freq_hz;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool is_hardware(const struct found_event *found)
{
	return found->type == PERF_TYPE_HARDWARE || found->type == PERF_TYPE_HW_CACHE ||
	       found->type == PERF_TYPE_RAW;
}

/* Can this host count anything in hardware? */
static bool has_counters(void)
{
	const struct found_event cycles = { .type = PERF_TYPE_HARDWARE,
					    .config = PERF_COUNT_HW_CPU_CYCLES };
	int fd = open_event(&cycles, 1000000000, 0, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void report(const struct found_event *found, uint64_t period, int err)
{
	if (err == -EACCES || err == -EPERM) {
		log_error(-err, "count '%s'", found->name);
		log_hint("kernel.perf_event_paranoid forbids it: run as root or with CAP_PERFMON");
	} else if (is_hardware(found) && !has_counters()) {
		log_error(0, "count '%s': this host has no hardware counters", found->name);
		log_hint("virtual machines often have none; the kernel itself counts page-faults, "
			 "minor-faults, major-faults, context-switches, cpu-migrations and "
			 "tracepoints");
	} else if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV) {
		log_error(0, "count '%s': this host does not count it", found->name);
	} else if (err == -EINVAL && !period) {
		log_error(0, "count '%s': the kernel does not sample it, or not that often",
			  found->name);
		log_hint("-c PERIOD takes a sample every so many events; "
			 "kernel.perf_event_max_sample_rate limits --freq");
	} else if (err == -EINVAL) {
		log_error(0, "count '%s': the kernel counts it but takes no samples of it",
			  found->name);
	} else {
		log_error(-err, "count '%s'", found->name);
	}
}

/* May it have to share a counter of the CPU with others? */
static bool takes_a_counter(const struct found_event *found)
{
	return found->type != PERF_TYPE_SOFTWARE && found->type != PERF_TYPE_TRACEPOINT;
}

static void add_opened(struct counted_events *e, int fd, uint32_t number)
{
	e->opened = xgrow(e->opened, &e->capacity, e->nr_opened + 1, sizeof(*e->opened));
	e->opened[e->nr_opened++] = (struct opened){
		.fd = fd,
		.times = takes_a_counter(&e->found[number]) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1,
		.number = number,
		.ring = throttle_ring_map(fd),
	};
}

/* Opens event `number` on these CPUs. 0 or -errno. */
static int open_on_cpus(struct counted_events *e, uint32_t number, uint32_t freq_hz,
			const int *cpus, size_t nr_cpus)
{
	const struct found_event *found = &e->found[number];
	size_t before = e->nr_opened;
	int err = -ENODEV;

	for (size_t i = 0; i < nr_cpus && !(found->tracepoint && e->nr_opened > before); i++) {
		int fd = open_event(found, e->periods[number], freq_hz, cpus[i]);

		err = fd < 0 ? fd : 0;
		if (fd >= 0)
			add_opened(e, fd, number);
		else if (fd != -ENODEV && fd != -ENOENT) /* offline, or a CPU of another kind */
			return err;
	}
	return e->nr_opened > before ? 0 : err;
}

static int add_event(struct counted_events *e, const struct source_event *event, uint32_t freq_hz,
		     const int *cpus, size_t nr_cpus)
{
	uint32_t number = e->nr++;
	char why[256], hint[128];
	int err = event_find(event->name, &e->found[number], why, sizeof(why), hint, sizeof(hint));

	if (err) {
		log_error(0, "count '%s': %s", event->name, why);
		if (hint[0])
			log_hint("%s", hint);
		return err;
	}
	e->periods[number] = event->period;
	if (e->found[number].tracepoint && !event->period)
		e->periods[number] = 1; /* the kernel keeps no frequency of tracepoints */
	err = open_on_cpus(e, number, freq_hz, cpus, nr_cpus);
	if (err)
		report(&e->found[number], e->periods[number], err);
	return err;
}

/* Every fault that needed no disk runs the program, which decides. */
static int add_growth(struct counted_events *e, const int *cpus, size_t nr_cpus)
{
	int err;

	e->growth = true;
	e->found[e->nr] = (struct found_event){
		.name = "minor-faults",
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
	};
	e->periods[e->nr] = 1;
	err = open_on_cpus(e, e->nr, 0, cpus, nr_cpus);
	if (err)
		report(&e->found[e->nr], 1, err);
	return err;
}

int counted_events_new(const struct source_events *events, uint32_t freq_hz,
		       struct counted_events **ret)
{
	struct counted_events *e = xcalloc(1, sizeof(*e));
	size_t nr_cpus = 0;
	int *cpus = NULL, err = cpus_online(&cpus, &nr_cpus);

	if (err)
		log_error(-err, "list the CPUs");
	for (size_t i = 0; i < events->nr && !err; i++)
		err = add_event(e, &events->list[i], freq_hz, cpus, nr_cpus);
	if (!err && events->growth)
		err = add_growth(e, cpus, nr_cpus);
	free(cpus);
	if (err)
		counted_events_free(e);
	else
		*ret = e;
	return err;
}

void counted_events_free(struct counted_events *e)
{
	if (!e)
		return;
	counted_events_stop(e);
	for (size_t i = 0; i < e->nr_opened; i++) {
		throttle_ring_unmap(e->opened[i].ring);
		if (e->opened[i].fd >= 0)
			close(e->opened[i].fd);
		if (e->opened[i].times >= 0)
			close(e->opened[i].times);
	}
	free(e->opened);
	free(e);
}

bool counted_events_tracepoints(const struct counted_events *e)
{
	for (uint32_t i = 0; i < e->nr; i++)
		if (e->found[i].tracepoint)
			return true;
	return false;
}

const uint64_t *counted_events_periods(const struct counted_events *e)
{
	return e->periods;
}

static struct bpf_program *program_of(const struct counted_events *e, uint32_t number,
				      const struct event_programs *programs)
{
	if (e->growth && number == e->nr)
		return programs->growth;
	return e->found[number].tracepoint ? programs->tracepoint : programs->sample;
}

int counted_events_start(struct counted_events *e, const struct event_programs *programs)
{
	for (size_t i = 0; i < e->nr_opened; i++) {
		struct opened *o = &e->opened[i];
		LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = o->number + 1);

		/* The link enables the event, and from here on owns its descriptor. */
		o->link = bpf_program__attach_perf_event_opts(program_of(e, o->number, programs),
							      o->fd, &opts);
		if (!o->link)
			return -errno;
		o->fd = -1;
	}
	return 0;
}

/* How much of the time that an event was to be counted it was, on all CPUs, in percent. */
static double counted_percent(const struct counted_events *e, uint32_t number)
{
	uint64_t enabled = 0, running = 0;

	for (size_t i = 0; i < e->nr_opened; i++) {
		const struct opened *o = &e->opened[i];
		struct {
			uint64_t value, enabled, running;
		} times;

		if (o->number != number || o->times < 0 ||
		    read(o->times, &times, sizeof(times)) != sizeof(times))
			continue;
		enabled += times.enabled;
		running += times.running;
	}
	return enabled ? 100.0 * (double)running / (double)enabled : 100;
}

void counted_events_report(const struct counted_events *e)
{
	bool some = false;

	for (uint32_t i = 0; e && i < e->nr; i++) {
		double percent = counted_percent(e, i);

		if (percent >= 99)
			continue;
		log_warning(
			"'%s' was counted for %.0f %% of the time: the CPU has too few counters",
			e->found[i].name, percent);
		some = true;
	}
	if (some)
		log_hint("their sums are too low by that; with fewer events in -e each is counted "
			 "all the time");
}

void counted_events_stop(struct counted_events *e)
{
	for (size_t i = 0; e && i < e->nr_opened; i++) {
		bpf_link__destroy(e->opened[i].link);
		e->opened[i].link = NULL;
	}
}

void counted_events_tell(struct counted_events *e, struct sink *sink)
{
	if (!e || e->told)
		return;
	e->told = true;
	for (uint32_t i = 0; i < e->nr; i++) {
		const char *name = e->found[i].name;
		const struct fact_event fact = {
			.column = COLUMN_EVENT_1 + i,
			.name = sink_cstring(sink, name),
			.period = e->periods[i],
		};

		sink->fact(sink, FACT_EVENT, &fact);
	}
}

const char *counted_events_first(const struct counted_events *e)
{
	return e->found[0].name;
}

uint64_t counted_events_read_throttles(struct counted_events *e)
{
	uint64_t nr = 0;

	for (size_t i = 0; e && i < e->nr_opened; i++)
		if (e->opened[i].ring)
			nr += throttle_ring_read(e->opened[i].ring);
	return nr;
}
