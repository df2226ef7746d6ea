/*
 * A process is polled once in a round. Its mappings are read again when a walk inside it meets an
 * address in none of them, or when the library in it says that they have changed. A process that
 * has ended stays for a second, so that the samples in its rings find it.
 */
#include "sampler/timer/targets/processes.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/runtimes/python/interpreter_files.h"
#include "sampler/selection/process_user.h"
#include "sampler/sink/limits.h"
#include "sampler/target/proc_life.h"
#include "sampler/target/vdso.h"

#define MAX_PROCESSES 4096
#define MAX_SAME 32 /* programs that one process may become within GRACE_NS */
#define GRACE_NS (1000ull * 1000 * 1000)
#define FIRST_POLL_NS (50ull * 1000 * 1000)
#define REREAD_NS (20ull * 1000 * 1000)
#define UNMAPPED_NS (10000ull * 1000 * 1000) /* nothing says what an attached process unmaps */
#define CREDIT 64u /* snapshots that a process may send from one round to the next */

int timer_processes_init(struct timer_processes *s, const struct timer_region_config *config,
			 bool wants_python, struct profile_stats *stats, struct limits *limits,
			 const struct sandbox *sandbox, struct table_cache *cache)
{
	*s = (struct timer_processes){
		.config = *config,
		.pythons = wants_python ? python_files_new() : NULL,
		.code_reader = code_reader_new(sandbox),
		.stats = stats,
		.limits = limits,
		.names_due_ns = UINT64_MAX,
	};
	return timer_publish_init(&s->publish, stats, limits, sandbox, cache);
}

/* What is known of runtime code outlives a new list of mappings. */
static void keep_runtime(struct runtime_regions *now, struct runtime_regions *before)
{
	const struct runtime_regions bounds = *now;

	*now = *before;
	now->low = bounds.low;
	now->high = bounds.high;
	*before = (struct runtime_regions){ 0 };
}

/* Nothing tells us what is unmapped, so the whole of /proc/PID/maps is read each time. */
static int read_maps(struct timer_processes *s, struct timer_process *p)
{
	uint32_t epoch = __atomic_load_n(&p->region.shared->maps_epoch, __ATOMIC_ACQUIRE);
	struct process now = {
		.pid = p->maps.pid,
		.user = p->maps.user,
		.epoch = p->maps.epoch,
	};
	bool changed;
	int err;

	p->maps.read_ns = monotonic_ns();
	__atomic_store_n(&p->region.shared->maps_wanted, 0, __ATOMIC_RELAXED);
	err = timer_publish_read_maps(&s->publish, &now);
	/* Of a process that ends meanwhile the kernel shows a part of the list. */
	if (err || (p->region.generation && proc_life_has_ended(p->maps.pid))) {
		process_fini(&now);
		return err;
	}
	changed = !process_same_maps(&p->maps, &now);
	if (changed) {
		now.known_ns = p->maps.known_ns;
		now.read_ns = p->maps.read_ns;
		process_new_epoch(&now);
		keep_runtime(&now.runtime, &p->maps.runtime);
		process_fini(&p->maps);
		p->maps = now;
	} else {
		process_fini(&now);
	}
	if (changed || epoch != p->maps_epoch || !p->region.generation) {
		p->maps_epoch = epoch;
		timer_python_find(p, s->pythons);
		timer_publish_maps(&s->publish, p);
	}
	return 0;
}

void timer_reread(struct timer_processes *s, struct timer_process *p, uint64_t since_ns)
{
	if (!p->ended_ns && p->maps.read_ns < since_ns)
		read_maps(s, p);
}

static void free_process(struct timer_process *p)
{
	timer_attached_end(p);
	timer_threads_fini(p);
	timer_region_free(&p->region);
	timer_python_fini(p);
	process_fini(&p->maps);
	free(p);
}

bool timer_is_sampled(const struct timer_processes *s, pid_t pid)
{
	for (const struct timer_process *p = s->first; p; p = p->next)
		if (p->maps.pid == pid && !p->ended_ns)
			return true;
	return false;
}

int timer_add_process(struct timer_processes *s, pid_t pid, struct timer_process **ret)
{
	uint64_t now = monotonic_ns();
	struct timer_process *p;
	size_t nr = 0, nr_same = 0;
	int err;

	for (p = s->first; p; p = p->next) {
		if (p->maps.pid == pid && !p->ended_ns)
			p->ended_ns = now; /* it has become another program */
		nr_same += p->maps.pid == pid;
		nr++;
	}
	if (nr_same >= MAX_SAME)
		return -EAGAIN;
	if (nr >= MAX_PROCESSES) {
		limit_hit(s->limits, LIMIT_PROCESSES,
			  "more than %d processes: further ones are not sampled", MAX_PROCESSES);
		return -EAGAIN;
	}
	p = xcalloc(1, sizeof(*p));
	p->maps.pid = pid;
	p->maps.user = process_user(pid, 0);
	process_new_epoch(&p->maps);
	timer_threads_init(p, now + FIRST_POLL_NS);
	p->program = proc_life_program(pid);
	s->launched_came |= pid == s->launched;
	p->maps.known_ns = now;
	err = timer_region_new(&s->config, &p->region);
	if (err) {
		free(p);
		return err;
	}
	p->region.shared->clock_gettime = vdso_address(pid, "__vdso_clock_gettime");
	p->region.shared->getcpu = vdso_address(pid, "__vdso_getcpu");
	err = read_maps(s, p);
	if (err) {
		free_process(p);
		return err;
	}
	timer_thread(p, pid);
	p->next = s->first;
	s->first = p;
	*ret = p;
	return 0;
}

void timer_drop_process(struct timer_processes *s, struct timer_process *p)
{
	struct timer_process **at = &s->first;

	s->on_drop(s->context, p);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free_process(p);
}

/* What was lost in it, before it is freed. */
static void count_losses(struct timer_processes *s, struct timer_process *p)
{
	bool beyond;

	s->stats->nr_lost += timer_losses_poll(p, &s->config, &beyond);
	if (!beyond)
		return;
	limit_hit(s->limits, LIMIT_LOST_CLAIMS,
		  "process %d says that more samples were lost than its timers can have taken: its "
		  "number of lost samples is not believable",
		  (int)p->maps.pid);
}

static void hit_threads(struct timer_processes *s, const struct timer_process *p, size_t nr)
{
	while (nr--)
		limit_hit(s->limits, LIMIT_THREADS,
			  "process %d has more threads than can have a timer: the rest is not "
			  "sampled",
			  (int)p->maps.pid);
}

void timer_want_threads(struct timer_processes *s, struct timer_process *p)
{
	hit_threads(s, p, timer_threads_want(p));
}

/* A process that lives. */
static void poll_process(struct timer_processes *s, struct timer_process *p, uint64_t now)
{
	struct agent_region *shared = p->region.shared;
	size_t nr_limits;

	if (timer_region_is_lost(&p->region)) {
		log_warning(
			"process %d has taken back the memory that it shares with us: it is not "
			"sampled any more",
			(int)p->maps.pid);
		p->region.nr_broken++;
		p->ended_ns = now;
		return;
	}
	timer_region_beat(&p->region);
	timer_missed_poll(&s->config, p, s->stopping);
	__atomic_store_n(&shared->snapshot_credit, CREDIT, __ATOMIC_RELAXED);
	if (__atomic_load_n(&shared->state, __ATOMIC_RELAXED) == AGENT_ORPHANED)
		__atomic_store_n(&shared->state, AGENT_ON, __ATOMIC_RELAXED);
	if (__atomic_load_n(&shared->maps_wanted, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&shared->maps_epoch, __ATOMIC_RELAXED) != p->maps_epoch)
		timer_reread(s, p, now - REREAD_NS);
	else if (!s->stopping && now > UNMAPPED_NS)
		timer_reread(s, p, now - UNMAPPED_NS);
	timer_publish_look(&s->publish, p, now);
	if (!timer_threads_poll(p, now, s->stopping, &nr_limits))
		p->ended_ns = now;
	hit_threads(s, p, nr_limits);
}

void timer_processes_poll(struct timer_processes *s)
{
	struct timer_process *p, *next;
	uint64_t now, due;

	timer_publish_poll(&s->publish);
	s->names_due_ns = UINT64_MAX;
	for (p = s->first; p; p = next) {
		next = p->next;
		now = monotonic_ns();
		count_losses(s, p);
		if (p->ended_ns) {
			if (now > p->ended_ns + GRACE_NS)
				timer_drop_process(s, p);
			continue;
		}
		poll_process(s, p, now);
		due = timer_threads_poll_name(p, now);
		s->names_due_ns = due < s->names_due_ns ? due : s->names_due_ns;
	}
	if (!s->stopping)
		timer_publish_release(&s->publish, s->first, monotonic_ns());
}

void timer_processes_fini(struct timer_processes *s)
{
	struct timer_process *p, *next;

	timer_publish_stop(&s->publish); /* it reads the processes' files */
	for (p = s->first; p; p = next) {
		next = p->next;
		free_process(p);
	}
	timer_publish_fini(&s->publish);
	code_reader_free(s->code_reader);
	python_files_free(s->pythons);
}
