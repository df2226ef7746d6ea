/*
 * The processes that are sampled: their threads get timers, their mappings and rows are published for
 * the walks inside them.
 */
#include "sampler/timer/timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/timer/follow.h"
#include "sampler/timer/vdso.h"
#include "sampler/unwind/unwind_table.h"

#define MAX_PROCESSES 4096
#define GRACE_NS (1000ull * 1000 * 1000)
#define FIRST_POLL_NS (50ull * 1000 * 1000)
#define HUSH_NS (20ull * 1000 * 1000)
#define REREAD_NS (20ull * 1000 * 1000)
#define CREDIT 64u /* snapshots that a process may send from one round to the next */

/* ---- code */

static void on_code(void *context, struct mapped_file *code)
{
	struct source *s = context;

	walk_arena_add_file(s->arena, s->builder, code);
}

static void take_tables(struct source *s)
{
	struct unwind_table *table;
	uint32_t index;

	while (table_builder_take(s->builder, &index, &table)) {
		if (table) {
			s->stats.nr_rows += table->nr_rows;
			file_table_get(s->codes, index)->nr_code_functions =
				table->nr_code_functions;
		}
		if (walk_arena_add_table(s->arena, index, table))
			s->stats.nr_limits++;
		unwind_table_free(table);
	}
}

/* ---- mappings */

static void publish_maps(struct source *s, struct timer_process *p)
{
	struct walk_space *space = p->region.space;

	space->python[(p->region.generation + 1) & 1] = p->python;
	if (walk_space_publish(space, &p->maps, p->maps_epoch, &p->region.generation))
		s->stats.nr_limits++;
}

bool timer_has_ended(const struct timer_process *p)
{
	struct proc_status status;

	return proc_status_read(p->maps.pid, &status) || (status.ended && status.nr_threads <= 1);
}

/* The file is read anew each time: nobody tells us what is unmapped. */
static int read_maps(struct source *s, struct timer_process *p)
{
	uint32_t epoch = __atomic_load_n(&p->region.shared->maps_epoch, __ATOMIC_ACQUIRE);
	struct process now = { .pid = p->maps.pid, .epoch = p->maps.epoch };
	bool changed;
	int err;

	p->maps.read_ns = monotonic_ns();
	__atomic_store_n(&p->region.shared->maps_wanted, 0, __ATOMIC_RELAXED);
	err = process_read_maps(&now, s->codes, on_code, s);
	/* What ends meanwhile shows a list cut short. */
	if (err || (p->region.generation && timer_has_ended(p))) {
		process_fini(&now);
		return err;
	}
	changed = !process_same_maps(&p->maps, &now);
	if (changed) {
		now.known_ns = p->maps.known_ns;
		now.read_ns = p->maps.read_ns;
		process_new_epoch(&now);
		process_fini(&p->maps);
		p->maps = now;
	} else {
		process_fini(&now);
	}
	if (changed || epoch != p->maps_epoch || !p->region.generation) {
		p->maps_epoch = epoch;
		timer_find_python(s, p);
		publish_maps(s, p);
	}
	return 0;
}

void timer_reread(struct source *s, struct timer_process *p, uint64_t since_ns)
{
	if (!p->ended_ns && p->maps.read_ns < since_ns)
		read_maps(s, p);
}

/* ---- processes */

static void free_process(struct timer_process *p)
{
	timer_detach(p);
	timer_forget_threads(p);
	timer_region_free(&p->region);
	python_codes_free(p->codes);
	process_fini(&p->maps);
	free(p->tids);
	free(p->numbers);
	free(p);
}

int timer_add_process(struct source *s, pid_t pid, struct timer_process **ret)
{
	uint64_t now = monotonic_ns();
	struct timer_process *p;
	size_t nr = 0;
	int err;

	for (p = s->processes; p; p = p->next) {
		if (p->maps.pid == pid && !p->ended_ns)
			p->ended_ns = now; /* it is another program now */
		nr++;
	}
	if (nr >= MAX_PROCESSES) {
		s->stats.nr_limits++;
		return -EAGAIN;
	}
	p = xcalloc(1, sizeof(*p));
	p->maps.pid = pid;
	process_new_epoch(&p->maps);
	p->renumbers = timer_numbers_differ(pid);
	p->program = timer_follow_program(pid);
	s->launched_came |= pid == s->launched;
	p->maps.known_ns = now;
	p->next_poll_ns = now + FIRST_POLL_NS;
	err = timer_region_new(&s->config, &p->region);
	if (err) {
		free(p);
		return err;
	}
	p->region.shared->clock_gettime = timer_vdso_address(pid, "__vdso_clock_gettime");
	p->region.shared->getcpu = timer_vdso_address(pid, "__vdso_getcpu");
	err = read_maps(s, p);
	if (err) {
		free_process(p);
		return err;
	}
	timer_thread(p, pid);
	p->next = s->processes;
	s->processes = p;
	*ret = p;
	return 0;
}

void timer_drop_process(struct source *s, struct timer_process *p)
{
	struct timer_process **at = &s->processes;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free_process(p);
}

/* Its losses, before they go with it. */
static void count_losses(struct source *s, struct timer_process *p)
{
	uint64_t nr = timer_region_nr_dropped(&p->region) + p->region.nr_broken;

	/* counters of a target may run backwards */
	if (nr > p->nr_lost)
		s->stats.nr_lost += nr - p->nr_lost;
	p->nr_lost = nr;
}

void timer_tend(struct source *s)
{
	struct timer_process *p, *next;
	uint64_t now, due;

	take_tables(s);
	s->names_due_ns = UINT64_MAX;
	for (p = s->processes; p; p = next) {
		struct agent_region *shared = p->region.shared;

		next = p->next;
		now = monotonic_ns();
		count_losses(s, p);
		if (p->ended_ns) {
			if (now > p->ended_ns + GRACE_NS)
				timer_drop_process(s, p);
			continue;
		}
		timer_region_beat(&p->region);
		timer_missed_tend(s, p);
		__atomic_store_n(&shared->snapshot_credit, CREDIT, __ATOMIC_RELAXED);
		if (__atomic_load_n(&shared->state, __ATOMIC_RELAXED) == AGENT_ORPHANED)
			__atomic_store_n(&shared->state, AGENT_ON, __ATOMIC_RELAXED);
		if (__atomic_load_n(&shared->maps_wanted, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&shared->maps_epoch, __ATOMIC_RELAXED) != p->maps_epoch)
			timer_reread(s, p, now - REREAD_NS);
		if (now >= p->next_poll_ns)
			timer_poll_threads(s, p, now);
		due = timer_tend_name(p, now);
		s->names_due_ns = due < s->names_due_ns ? due : s->names_due_ns;
	}
}

void timer_stop_processes(struct source *s)
{
	uint64_t until = monotonic_ns() + HUSH_NS;

	for (struct timer_process *p = s->processes; p; p = p->next)
		timer_region_stop(&p->region);
	for (struct timer_process *p = s->processes; p; p = p->next) {
		timer_wake_hush(p, until);
		timer_detach(p);
	}
}

void timer_free_processes(struct source *s)
{
	struct timer_process *p, *next;

	for (p = s->processes; p; p = next) {
		next = p->next;
		free_process(p);
	}
}
