/*
 * CPU time that no sample stands for: the process' own clock against the weights of its samples. A process
 * that was attached to tells us nothing of its new threads; where many are over before we see them, it gets
 * a timer more, which meets them too. What is missing in the end is said.
 */
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include "sampler/timer/timer.h"

#include "core/base/log.h"

#define CLOCK_OF_PROCESS 2 /* CPUCLOCK_SCHED of the kernel */
#define SHARE 20	   /* of the CPU time: less than a twentieth is not worth a signal more */
#define WINDOW_NS (2000ull * 1000 * 1000)
#define SAID_SHARE 50
#define SAID_NS (20ull * 1000 * 1000)

uint64_t timer_cpu_ns(pid_t pid)
{
	struct timespec t;

	if (clock_gettime((clockid_t)(~(unsigned int)pid << 3 | CLOCK_OF_PROCESS), &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Before Linux 6.4 such a timer tells the first thread, which may wait for something. */
static bool meets_who_runs(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 4));
}

/* What may be missing anyhow: the part of a period that each thread is in. */
static uint64_t slack_ns(const struct source *s, const struct timer_process *p)
{
	return (p->nr_tids + 1) * (s->config.period_ns + s->config.tick_ns);
}

static uint64_t missing_ns(uint64_t cpu_ns, uint64_t weighed_ns)
{
	return cpu_ns > weighed_ns ? cpu_ns - weighed_ns : 0;
}

static void begin_window(struct timer_process *p)
{
	p->window_cpu_ns = p->cpu_ns;
	p->window_weighed_ns = p->weighed_ns;
}

void timer_missed_begin(struct timer_process *p)
{
	p->cpu_ns = p->cpu_start_ns = timer_cpu_ns(p->maps.pid);
	begin_window(p);
}

void timer_missed_tend(const struct source *s, struct timer_process *p)
{
	struct agent_region *shared = p->region.shared;
	uint64_t now_ns, cpu_ns, missing;

	if (!p->attach || s->config.clock != AGENT_CLOCK_CPU)
		return;
	now_ns = timer_cpu_ns(p->maps.pid);
	if (now_ns > p->cpu_ns)
		p->cpu_ns = now_ns;
	cpu_ns = p->cpu_ns - p->window_cpu_ns;
	missing = missing_ns(cpu_ns, p->weighed_ns - p->window_weighed_ns);
	/* Where a thread holds our signal back, another one that sleeps would get it. */
	if (!s->stopping && !p->process_timer && !p->blocked && missing > cpu_ns / SHARE &&
	    missing > slack_ns(s, p) && meets_who_runs()) {
		p->process_timer = true;
		__atomic_store_n(&shared->process_wanted, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&shared->mailbox, 1, __ATOMIC_RELEASE);
		log_debug("process %d: a timer for threads that are over at once",
			  (int)p->maps.pid);
	}
	if (cpu_ns > WINDOW_NS)
		begin_window(p);
}

void timer_missed_end(const struct source *s)
{
	for (const struct timer_process *p = s->processes; p; p = p->next) {
		uint64_t cpu_ns = p->cpu_ns - p->cpu_start_ns,
			 missing = missing_ns(cpu_ns, p->weighed_ns);

		if (!p->was_attached || missing < cpu_ns / SAID_SHARE + SAID_NS + slack_ns(s, p))
			continue;
		log_warning("process %d: no sample stands for %.0f of %.0f ms of CPU time: threads "
			    "that %s",
			    (int)p->maps.pid, (double)missing / 1e6, (double)cpu_ns / 1e6,
			    p->blocked_said ? "block our signal" : "were too short to be seen");
	}
}
