/*
 * Where many threads of an attached process end before we see them, the process gets one timer
 * more, on the CPU time of all its threads: it meets those too. CPU time that is still missing at
 * the end is reported.
 */
#include "sampler/timer/targets/missed_time.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "core/base/log.h"
#include "sampler/timer/targets/proc_life.h"
#include "sampler/timer/targets/timer_process.h"

#define SHARE 20 /* of the CPU time: less than a twentieth is not worth a timer more */
#define WINDOW_NS (2000ull * 1000 * 1000)
#define SAID_SHARE 50
#define SAID_NS (20ull * 1000 * 1000)

/*
 * Before Linux 6.4 the signal of such a timer goes to the first thread, which may be waiting for
 * something.
 */
static bool meets_running_threads(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 4));
}

/* What is missing even if all is well: each thread has begun a period and not ended it. */
static uint64_t slack_ns(const struct timer_region_config *c, const struct timer_process *p)
{
	return (p->threads.nr_tids + 1) * (c->period_ns + c->tick_ns);
}

static uint64_t missing_ns(uint64_t cpu_ns, uint64_t weighed_ns)
{
	return cpu_ns > weighed_ns ? cpu_ns - weighed_ns : 0;
}

static void begin_window(struct timer_missed *m)
{
	m->window_cpu_ns = m->cpu_ns;
	m->window_weighed_ns = m->weighed_ns;
}

void timer_missed_begin(struct timer_process *p)
{
	p->missed.cpu_ns = p->missed.cpu_start_ns = proc_life_cpu_ns(p->maps.pid);
	begin_window(&p->missed);
}

void timer_missed_weigh(struct timer_process *p, uint64_t weight_ns)
{
	p->missed.weighed_ns += weight_ns;
}

static void want_process_timer(struct timer_process *p)
{
	struct agent_region *shared = p->region.shared;

	p->missed.process_timer = true;
	__atomic_store_n(&shared->process_wanted, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->mailbox, 1, __ATOMIC_RELEASE);
	log_debug("process %d: a timer for threads that end at once", (int)p->maps.pid);
}

void timer_missed_poll(const struct timer_region_config *config, struct timer_process *p,
		       bool stopping)
{
	struct timer_missed *m = &p->missed;
	uint64_t now_ns, cpu_ns, missing;

	if (!p->attached.attach || config->clock != AGENT_CLOCK_CPU)
		return;
	now_ns = proc_life_cpu_ns(p->maps.pid);
	if (now_ns > m->cpu_ns)
		m->cpu_ns = now_ns;
	cpu_ns = m->cpu_ns - m->window_cpu_ns;
	missing = missing_ns(cpu_ns, m->weighed_ns - m->window_weighed_ns);
	/* Where a thread blocks our signal, another thread, which sleeps, would get it. */
	if (!stopping && !m->process_timer && !p->threads.blocked && missing > cpu_ns / SHARE &&
	    missing > slack_ns(config, p) && meets_running_threads())
		want_process_timer(p);
	if (cpu_ns > WINDOW_NS)
		begin_window(m);
}

void timer_missed_end(const struct timer_region_config *config,
		      const struct timer_process *processes)
{
	for (const struct timer_process *p = processes; p; p = p->next) {
		uint64_t cpu_ns = p->missed.cpu_ns - p->missed.cpu_start_ns,
			 missing = missing_ns(cpu_ns, p->missed.weighed_ns);

		if (!p->attached.was_attached ||
		    missing < cpu_ns / SAID_SHARE + SAID_NS + slack_ns(config, p))
			continue;
		log_warning("process %d: no sample stands for %.0f of %.0f ms of CPU time: threads "
			    "that %s",
			    (int)p->maps.pid, (double)missing / 1e6, (double)cpu_ns / 1e6,
			    p->threads.blocked_said ? "block our signal"
						    : "were too short to be seen");
	}
}
