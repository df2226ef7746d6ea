/*
 * Opens an event for each thread on each CPU. The events of one CPU share the ring of the first
 * (PERF_EVENT_IOC_SET_OUTPUT). While a process is attached to, its list of threads is read again
 * and again: a new thread either has inherited events, as its fork record says, or gets some. The
 * same holds for a process whose parent is watched.
 */
#include "sampler/perf/task_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/cpus.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/selection/cgroups.h"
#include "sampler/target/attach_error.h"
#include "sampler/target/perf_ring.h"
#include "sampler/target/registers_x86_64.h"

#define STACK_BYTES 16384u
/*
 * An ordinary user may pin kernel.perf_event_mlock_kb per CPU, so smaller rings are tried in turn.
 */
#define MAX_RING_BYTES (4u << 20)
#define MIN_RING_BYTES (256u << 10)
#define WAKEUP_BYTES (128u << 10)
/*
 * Threads may start while the list is read: it is read again until no thread is new, or so often.
 */
#define MAX_LISTINGS 20

struct ring {
	int cpu, fd; /* fd: the event that the ring was mapped from */
	bool polled; /* it is in the epoll set */
	struct perf_ring ring;
};

/* A thread that has events: we opened them, or it inherited them. */
struct watched {
	pid_t tid;
	UT_hash_handle hh;
};

struct perf_events {
	struct perf_event_attr attr;
	uint64_t period_ns;
	int *cpus;
	size_t nr_cpus;
	struct ring *rings; /* of each CPU; fd -1 until the first event is open */
	bool mapped;
	int *fds;
	size_t nr_fds, capacity;
	struct watched
		*watched; /* while processes are attached to: kept by fork and exit records */
	/* during perf_events_read() */
	perf_events_fn *fn;
	void *context;
};

static int open_event_of(const struct perf_event_attr *attr, int whose, int cpu,
			 unsigned long flags)
{
	struct perf_event_attr copy = *attr;
	int fd = (int)syscall(SYS_perf_event_open, &copy, whose, cpu, -1,
			      flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return open_event_of(attr, tid, cpu, 0);
}

/* Opens the event on this process and closes it again. */
static int try_event(const struct perf_event_attr *attr)
{
	int fd = open_event(attr, 0, -1);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void set_kernel(struct perf_event_attr *attr, bool kernel)
{
	attr->exclude_kernel = !kernel;
	if (kernel)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	else
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
}

/* Samples kernel code if that is allowed. */
static int allow_kernel(struct perf_event_attr *attr)
{
	int err;

	set_kernel(attr, true);
	err = try_event(attr);
	if (err != -EACCES && err != -EPERM)
		return err;
	set_kernel(attr, false);
	return try_event(attr);
}

static struct perf_event_attr sampling_attr(uint64_t period_ns)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_RECORD_SAMPLE_TYPE,
		.sample_regs_user = REGISTERS_PERF_MASK,
		.sample_stack_user = STACK_BYTES,
		.exclude_callchain_user = 1,
		.exclude_idle = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = WAKEUP_BYTES,
	};
}

int perf_events_check(bool *ret_kernel)
{
	struct perf_event_attr attr = sampling_attr(1000000);
	int err = allow_kernel(&attr);

	if (!err)
		*ret_kernel = !attr.exclude_kernel;
	return err;
}

int perf_events_new(const char *event, uint32_t freq_hz, struct perf_events **ret_events)
{
	struct perf_events *e = xcalloc(1, sizeof(*e));
	struct perf_event_attr cycles;
	int err;

	e->period_ns = 1000000000u / freq_hz;
	e->attr = sampling_attr(e->period_ns);
	err = allow_kernel(&e->attr);
	if (!err && !strcmp(event, "cycles")) {
		cycles = e->attr;
		cycles.type = PERF_TYPE_HARDWARE;
		cycles.config = PERF_COUNT_HW_CPU_CYCLES;
		cycles.freq = 1;
		cycles.sample_freq = freq_hz;
		cycles.exclude_idle = 0; /* a thread has no idle cycles, and some PMUs refuse it */
		if (!try_event(&cycles))
			e->attr = cycles;
		else
			err = -EOPNOTSUPP;
	}
	if (!err)
		err = cpus_online(&e->cpus, &e->nr_cpus);
	if (err) {
		perf_events_free(e);
		return err;
	}
	e->rings = xcalloc(e->nr_cpus, sizeof(*e->rings));
	for (size_t i = 0; i < e->nr_cpus; i++)
		e->rings[i] = (struct ring){ .cpu = e->cpus[i], .fd = -1 };
	*ret_events = e;
	return 0;
}

static void forget(struct perf_events *e, struct watched *w)
{
	HASH_DEL(e->watched, w);
	free(w);
}

void perf_events_free(struct perf_events *e)
{
	struct watched *w, *next;

	if (!e)
		return;
	for (size_t i = 0; e->rings && i < e->nr_cpus; i++)
		perf_ring_unmap(&e->rings[i].ring);
	for (size_t i = 0; i < e->nr_fds; i++)
		close(e->fds[i]);
	HASH_ITER (hh, e->watched, w, next)
		forget(e, w);
	free(e->rings);
	free(e->cpus);
	free(e->fds);
	free(e);
}

const char *perf_events_name(const struct perf_events *e)
{
	return perf_events_count_ns(e) ? "cpu-clock" : "cycles";
}

bool perf_events_see_kernel(const struct perf_events *e)
{
	return !e->attr.exclude_kernel;
}

uint64_t perf_events_period_ns(const struct perf_events *e)
{
	return e->period_ns;
}

bool perf_events_count_ns(const struct perf_events *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE;
}

static bool is_watched(const struct perf_events *e, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(e->watched, &tid, w);
	return w;
}

static void add_watched(struct perf_events *e, pid_t tid)
{
	struct watched *w;

	if (is_watched(e, tid))
		return;
	w = xcalloc(1, sizeof(*w));
	w->tid = tid;
	HASH_ADD_INT(e->watched, tid, w);
}

static void forget_watched(struct perf_events *e, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(e->watched, &tid, w);
	if (w)
		forget(e, w);
}

/* Maps all rings with one size, the largest that is allowed. */
static int map_rings(struct perf_events *e)
{
	int err = -EINVAL;

	for (size_t size = MAX_RING_BYTES; size >= MIN_RING_BYTES; size /= 2) {
		err = 0;
		for (size_t i = 0; i < e->nr_cpus && !err; i++)
			if (e->rings[i].fd >= 0)
				err = perf_ring_map(&e->rings[i].ring, e->rings[i].fd, size);
		e->mapped = !err;
		if (!err)
			log_debug("rings of %zu KiB for each CPU", size >> 10);
		if (err != -EPERM && err != -ENOMEM)
			return err;
		for (size_t i = 0; i < e->nr_cpus; i++)
			perf_ring_unmap(&e->rings[i].ring);
	}
	log_error(-err, "map the rings of perf events");
	log_hint("sudo sysctl kernel.perf_event_mlock_kb=2048");
	return err;
}

/*
 * An event for one thread (-1: all) on every CPU, or with PERF_FLAG_PID_CGROUP for the cgroup whose
 * folder that descriptor is. 0 or -errno.
 */
static int add_events(struct perf_events *e, int whose, unsigned long flags)
{
	for (size_t i = 0; i < e->nr_cpus; i++) {
		struct ring *r = &e->rings[i];
		int fd = open_event_of(&e->attr, whose, r->cpu, flags);

		if (fd == -ENODEV) /* went offline just now */
			continue;
		if (fd < 0)
			return fd;
		e->fds = xgrow(e->fds, &e->capacity, e->nr_fds + 1, sizeof(*e->fds));
		e->fds[e->nr_fds++] = fd;
		if (r->fd < 0)
			r->fd = fd;
		else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd))
			return -errno;
	}
	return 0;
}

static int add_thread(struct perf_events *e, pid_t tid)
{
	return add_events(e, tid, 0);
}

int perf_events_add_machine(struct perf_events *e)
{
	int err = add_thread(e, -1);

	if (!err)
		return map_rings(e);
	log_error(-err, "open perf events on whole CPUs");
	if (err == -EACCES || err == -EPERM)
		log_hint("%s", getuid() ? "run sprof with sudo, or: sudo sysctl "
					  "kernel.perf_event_paranoid=0"
					: "root lacks CAP_PERFMON here: in a container, start that "
					  "with --cap-add PERFMON");
	return err;
}

int perf_events_add_cgroup(struct perf_events *e, const char *folder)
{
	int fd = cgroup_open(folder), err = fd < 0 ? fd : 0;

	if (!err)
		err = add_events(e, fd, PERF_FLAG_PID_CGROUP);
	if (fd >= 0)
		close(fd);
	return err ? err : map_rings(e);
}

/* Opens events for the listed threads that have none; returns how many threads, or -errno. */
static int add_listed(struct perf_events *e, pid_t pid)
{
	DIR *threads = proc_threads(pid);
	int nr = 0, err = threads ? 0 : -ESRCH;
	pid_t tid;

	while (!err && (tid = proc_next(threads))) {
		if (is_watched(e, tid))
			continue;
		err = add_thread(e, tid);
		if (err == -ESRCH) { /* it has ended */
			err = 0;
			continue;
		}
		if (!err && !e->mapped)
			err = map_rings(e);
		if (!err) {
			add_watched(e, tid);
			nr++;
		}
	}
	proc_close(threads);
	return err ? err : nr;
}

void perf_events_report(const struct perf_events *e, pid_t pid, int err)
{
	if (err == -EMFILE || err == -ENFILE) {
		log_error(-err,
			  "watch process %d: each thread needs %zu descriptors, one for each CPU",
			  (int)pid, e->nr_cpus);
		log_hint("raise the limit, ulimit -n, or sample the whole machine with -a");
		return;
	}
	attach_error_report("open perf events on", pid, err);
}

/* As long as a process is in exec(2), perf_event_open(2) waits as the open of its memory does. */
static bool is_stuck_in_exec(pid_t pid)
{
	int fd = remote_open_file(pid, "mem", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd == -ETIMEDOUT;
}

int perf_events_add_process(struct perf_events *e, pid_t pid, perf_events_fn *fn, void *context)
{
	int nr = 1, nr_all = 0;

	e->attr.inherit = 1;
	/* The process may be the child of one that is watched. */
	if (e->mapped)
		perf_events_read(e, fn, context);
	if (is_watched(e, pid))
		return 0;
	if (is_stuck_in_exec(pid))
		return -ETIMEDOUT;
	for (int i = 0; i < MAX_LISTINGS && nr > 0; i++) {
		nr = add_listed(e, pid);
		nr_all += nr > 0 ? nr : 0;
		/* Forks with a record: those threads have inherited the events. */
		if (e->mapped)
			perf_events_read(e, fn, context);
	}
	if (nr >= 0 && !nr_all && !is_watched(e, pid))
		nr = -ESRCH;
	return nr < 0 && !(nr == -ESRCH && nr_all) ? nr : 0;
}

void perf_events_begin_at_exec(struct perf_events *e, bool at_exec)
{
	e->attr.disabled = e->attr.enable_on_exec = at_exec;
}

void perf_events_wake_at_once(struct perf_events *e)
{
	e->attr.watermark = 0;
	e->attr.wakeup_events = 1;
	e->attr.context_switch = 1;
}

bool perf_events_ring(const struct perf_events *e, size_t index, int *ret_cpu, int *ret_fd,
		      size_t *ret_size)
{
	if (index >= e->nr_cpus)
		return false;
	*ret_cpu = e->rings[index].cpu;
	*ret_fd = e->rings[index].ring.page ? e->rings[index].fd : -1;
	*ret_size = e->rings[index].ring.size;
	return true;
}

void perf_events_keep_to_threads(struct perf_events *e)
{
	struct perf_event_attr copy = e->attr;

	copy.inherit = copy.inherit_thread = 1;
	if (!try_event(&copy))
		e->attr.inherit_thread = 1;
}

void perf_events_disable(struct perf_events *e)
{
	for (size_t i = 0; i < e->nr_fds; i++)
		ioctl(e->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

int perf_events_add_to_epoll(struct perf_events *e, int epoll_fd)
{
	/* Edge-triggered: an event whose thread has ended stays readable (EPOLLHUP). */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	for (size_t i = 0; i < e->nr_cpus; i++) {
		if (e->rings[i].fd < 0 || e->rings[i].polled)
			continue;
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, e->rings[i].fd, &event))
			return -errno;
		e->rings[i].polled = true;
	}
	return 0;
}

void perf_events_remove_from_epoll(struct perf_events *e, int epoll_fd)
{
	for (size_t i = 0; i < e->nr_cpus; i++) {
		if (e->rings[i].polled)
			epoll_ctl(epoll_fd, EPOLL_CTL_DEL, e->rings[i].fd, NULL);
		e->rings[i].polled = false;
	}
}

static void on_record(void *context, const uint8_t *bytes, size_t size)
{
	struct perf_events *e = context;
	struct perf_event_header h;
	struct perf_record r;

	memcpy(&h, bytes, sizeof(h));
	if (!perf_record_parse(&h, bytes + sizeof(h), size - sizeof(h),
			       e->attr.sample_type & PERF_SAMPLE_CALLCHAIN, &r))
		return;
	if (e->attr.inherit && r.type == PERF_FORKED &&
	    (!e->attr.inherit_thread || r.pid == r.parent_pid))
		add_watched(e, r.tid);
	else if (e->attr.inherit && r.type == PERF_EXITED)
		forget_watched(e, r.tid);
	e->fn(e->context, &r);
}

void perf_events_read(struct perf_events *e, perf_events_fn *fn, void *context)
{
	e->fn = fn;
	e->context = context;
	for (size_t i = 0; i < e->nr_cpus; i++)
		if (e->rings[i].ring.page)
			perf_ring_read(&e->rings[i].ring, on_record, e);
}
