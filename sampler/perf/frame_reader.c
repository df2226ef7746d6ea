/*
 * The reader takes the records of its CPU's ring as they come and does not free their room: the
 * recorder does. Of several samples that wait only the last is read, because the threads of the
 * others have gone on. It is forked from a process with threads, so it makes system calls only and
 * allocates nothing.
 */
#include "sampler/perf/frame_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/rights/privileges.h"
#include "sampler/perf/frame_walk.h"
#include "sampler/perf/perf_record.h"
#include "sampler/perf/reader_memory.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define SLICE_NS 100000u /* asked of the scheduler: who needs little is served soon */
#define MAX_RECORD 65536u

struct sched_attributes { /* struct sched_attr of linux/sched/types.h */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

struct reader {
	struct reader_config config;
	struct frame_walk *walk;
	const struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t seen; /* ring position */
	bool is_first; /* in its scheduling class no sampled thread runs on when it wakes up */
	int schedstat_fd;
	uint8_t record[MAX_RECORD];
};

static void copy_out(const struct reader *r, void *to, uint64_t at, size_t size)
{
	size_t offset = at & (r->config.ring_size - 1), first = r->config.ring_size - offset;

	first = size < first ? size : first;
	memcpy(to, r->data + offset, first);
	memcpy((uint8_t *)to + first, r->data, size - first);
}

static bool has_records(const struct reader *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) != r->seen;
}

/* Takes the records that are new. true: *ret_sample is the last sample, its stack in `record`. */
static bool take_records(struct reader *r, struct perf_record *ret_sample)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	bool found = false;

	if (head - r->seen > r->config.ring_size)
		r->seen = head; /* overwritten */
	while (head - r->seen >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		copy_out(r, &h, r->seen, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - r->seen) {
			r->seen = head;
			break;
		}
		if (h.type == PERF_RECORD_SAMPLE) {
			copy_out(r, r->record, r->seen + sizeof(h), h.size - sizeof(h));
			found |= perf_record_parse(&h, r->record, h.size - sizeof(h),
						   r->config.has_chain, ret_sample);
		}
		r->seen += h.size;
	}
	return found;
}

/* The recorder sleeps until much waits for it. */
static void wake_recorder(const struct reader *r)
{
	const struct reader_shared *shared = r->config.shared;
	uint64_t tail = __atomic_load_n(&r->page->data_tail, __ATOMIC_RELAXED), one = 1;
	uint64_t used = shared->ring.head - __atomic_load_n(&shared->ring.tail, __ATOMIC_RELAXED);

	if ((r->seen - tail > r->config.ring_size / 4 || used > READER_RING_WORDS / 4) &&
	    write(r->config.wake_fd, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

/* ---- the process */

/*
 * Asks to be preferred to whatever was sampled, and returns whether that is certain now. Where
 * neither is allowed, sleeping often helps.
 */
static bool ask_to_be_preferred(int cpu)
{
	struct sched_attributes slice = { .size = sizeof(slice), .runtime = SLICE_NS };
	struct sched_param first = { .sched_priority = 1 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned int)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		_exit(0); /* outside our cpuset */
	if (!sched_setscheduler(0, SCHED_FIFO, &first))
		return true;
	syscall(SYS_sched_setattr, 0, &slice, 0);
	return false;
}

static void let_go_of_files(struct reader_config *c)
{
	int fds[3] = { c->event_fd, c->wake_fd, open("/dev/null", O_RDWR | O_CLOEXEC) };

	for (int i = 0; i < 3; i++)
		fds[i] = fcntl(fds[i], F_DUPFD, 1000);
	for (int i = 0; i < 3; i++)
		dup2(fds[2], i);
	dup2(fds[0], 3);
	dup2(fds[1], 4);
	c->event_fd = 3;
	c->wake_fd = 4;
	if (syscall(SYS_close_range, 5u, ~0u, 0u))
		for (int fd = 5; fd < 2048; fd++)
			close(fd);
	if (chdir("/"))
		return; /* it stays where it is */
}

static bool map_ring(struct reader *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page + r->config.ring_size, PROT_READ, MAP_SHARED,
			 r->config.event_fd, 0);

	if (map == MAP_FAILED)
		return false;
	r->page = map;
	r->data = (const uint8_t *)map + page;
	r->seen = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	return true;
}

bool frame_reader_waited(const char *text, uint64_t *ret_ns)
{
	uint64_t numbers[3] = { 0 }; /* ns on a CPU, ns waiting for one, how often it got one */

	for (int i = 0; i < 3; i++) {
		if (*text < '0' || *text > '9')
			return false;
		for (; *text >= '0' && *text <= '9'; text++)
			numbers[i] = 10 * numbers[i] + (uint64_t)(*text - '0');
		text += *text == ' ';
	}
	*ret_ns = numbers[1];
	return numbers[2];
}

static bool read_waited(const struct reader *r, uint64_t *ret_ns)
{
	char text[96];
	ssize_t n = pread(r->schedstat_fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return frame_reader_waited(text, ret_ns);
}

/*
 * Waits for records. Returns whether the kernel gave this process the CPU in the interrupt that
 * woke it. When the scheduler decides that, it stops the clock of the CPU's queue until the switch
 * (rq_clock_skip_update() in kernel/sched), so such a process has waited 0 ns. If the sampled
 * thread ran on, another interrupt or system call has moved that clock.
 */
static bool wait_for_records(struct reader *r, int epoll_fd)
{
	struct epoll_event event;
	uint64_t before = 0, after = 0;
	bool known = r->is_first || read_waited(r, &before);

	if (!has_records(r) && epoll_wait(epoll_fd, &event, 1, -1) < 0 && errno != EINTR)
		_exit(1);
	return r->is_first || (known && read_waited(r, &after) && after == before);
}

static _Noreturn void serve(struct reader *r)
{
	/* Edge-triggered: the event of a thread that has ended stays readable. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct perf_record sample;

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, r->config.event_fd, &event))
		_exit(1);
	for (;;) {
		bool at_once = wait_for_records(r, epoll_fd);

		if (take_records(r, &sample))
			frame_walk_sample(r->walk, &sample, at_once);
		wake_recorder(r);
	}
}

static _Noreturn void run(struct reader_config config, struct reader *r, pid_t parent)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		signal(stops[i], SIG_IGN); /* ^C is for the recorder */
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sprof-python");
	r->config = config;
	r->walk = (struct frame_walk *)(r + 1);
	frame_walk_init(r->walk, config.targets, config.shared, config.cpu_index);
	let_go_of_files(&r->config);
	r->is_first = ask_to_be_preferred(config.cpu);
	r->schedstat_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	privileges_reduce(PRIVILEGE(CAP_SYS_PTRACE));
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of rights clears it */
	if (!map_ring(r))
		_exit(1);
	serve(r);
}

pid_t frame_reader_start(const struct reader_config *config)
{
	const size_t size = sizeof(struct reader) + frame_walk_size();
	struct reader *r =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t own = getpid(), pid;

	if (r == MAP_FAILED)
		return -errno;
	pid = fork();
	if (!pid)
		run(*config, r, own);
	munmap(r, size);
	return pid < 0 ? -errno : pid;
}
