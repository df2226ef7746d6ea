// BUILD: -fsanitize=thread sampler/timer/targets/timer_region.c core/untrusted/shared_memory.c sampler/agent/record.c sampler/agent/timers.c sampler/agent/stack.c sampler/agent/memory.c sampler/agent/python.c
/*
 * The memory that a target and its recorder share, with both halves in one process under
 * ThreadSanitizer: threads write samples into the rings and create and delete timers as the
 * handlers do, another thread reads the rings and requests timers as the recorder does. What is
 * read must be what was written, in order, and every lost sample must be counted. Prints the
 * numbers; exits with status 1 if something was wrong, 66 if ThreadSanitizer found a race.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/agent/agent.h"
#include "sampler/timer/targets/timer_region.h"

#define NR_PRODUCERS 4
#define NR_SAMPLES 15000u
#define MAX_FRAMES 120u
#define SIGNAL 60

static struct timer_region region;
static atomic_int nr_at_work = NR_PRODUCERS;
static atomic_int tids[NR_PRODUCERS];

static uint64_t frame_of(uint32_t producer, uint64_t n, uint32_t i)
{
	return (n * 0x9e3779b97f4a7c15u + producer * 131 + i) >> 4 & ((1ull << 47) - 1);
}

/* Two threads share a ring. */
static void *produce(void *argument)
{
	const uint32_t producer = (uint32_t)(uintptr_t)argument;
	__u64 frames[MAX_FRAMES + 1];

	tids[producer] = (int)syscall(SYS_gettid);
	for (uint64_t n = 1; n <= NR_SAMPLES; n++) {
		struct agent_taken taken = {
			.slot = producer / 2,
			.tid = (int32_t)producer,
			.time_ns = n,
		};
		struct agent_walk walk = { .nr = (uint32_t)(n * 7 % MAX_FRAMES + 1),
					   .frames = frames };

		for (uint32_t i = 0; i < walk.nr; i++)
			frames[i] = frame_of(producer, n, i);
		agent_put_sample(region.shared, &taken, &walk);
		agent_serve_slots(region.shared, 64);
		if (n % 16 == 0)
			sched_yield();
	}
	nr_at_work--;
	return NULL;
}

struct consumer {
	uint64_t nr, nr_bad, last[NR_PRODUCERS];
};

static void take(void *context, const struct agent_sample *sample, const uint64_t *words, size_t nr)
{
	struct consumer *c = context;
	uint32_t producer = (uint32_t)sample->tid;
	uint64_t n = sample->time_ns;

	c->nr++;
	if (producer >= NR_PRODUCERS || n <= c->last[producer] || nr != n * 7 % MAX_FRAMES + 1) {
		c->nr_bad++;
		return;
	}
	c->last[producer] = n;
	for (uint32_t i = 0; i < nr; i++)
		c->nr_bad += words[i] != frame_of(producer, n, i);
}

/* Every third thread has ended. */
static bool lives(void *context, pid_t tid)
{
	return (*(unsigned int *)context)++ % 3 || !tid;
}

static bool has_timers(void)
{
	FILE *f = fopen("/proc/self/timers", "re");
	bool has = f && fgetc(f) != EOF;

	if (f)
		fclose(f);
	return has;
}

int main(void)
{
	const struct timer_region_config config = { .period_ns = 3600ull * 1000000000,
						    .signal = SIGNAL };
	struct consumer c = { 0 };
	pthread_t threads[NR_PRODUCERS];
	unsigned int turn = 0, nr_lost;
	bool had_timers = false;

	signal(SIGNAL, SIG_IGN);
	if (timer_region_new(&config, &region))
		return 2;
	for (uintptr_t i = 0; i < NR_PRODUCERS; i++)
		pthread_create(&threads[i], NULL, produce, (void *)i);
	while (nr_at_work) {
		for (int i = 0; i < NR_PRODUCERS; i++) {
			if (tids[i])
				timer_region_want(&region, tids[i]);
		}
		timer_region_beat(&region);
		timer_region_read(&region, take, &c);
		had_timers |= has_timers();
		timer_region_sweep(&region, lives, &turn);
	}
	for (int i = 0; i < NR_PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	timer_region_stop(&region);
	agent_free_slots(region.shared);
	timer_region_read(&region, take, &c);
	nr_lost = (unsigned int)timer_region_nr_dropped(&region);
	printf("samples %lu lost %u bad %lu\n", (unsigned long)c.nr, nr_lost,
	       (unsigned long)c.nr_bad);
	if (!had_timers || has_timers())
		printf("timers were %smade, and %sdeleted\n", had_timers ? "" : "not ",
		       has_timers() ? "not all " : "");
	return c.nr_bad || c.nr + nr_lost != NR_PRODUCERS * NR_SAMPLES || region.nr_broken ||
	       !had_timers || has_timers();
}
