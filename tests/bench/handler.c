/*
 * Measures a signal handler that takes the stack of its thread, 33 frames deep and without frame
 * pointers. It runs under `sprof record --source timer -- handler ROUNDS`: the thread sends itself
 * the signal of sprof's timers as they do, and a signal of its own, whose handler does nothing or
 * calls libunwind. Prints, for each way, the median time in ns from sending the signal to the
 * return from it:
 *
 *	floor N		a handler that does nothing
 *	same N		sprof's; the stack is the same as before
 *	changed N	sprof's; it remembers no rule of the stack
 *	backtrace N	unw_backtrace()
 *	step N		unw_init_local() and unw_step(), as gperftools does it
 */
#define UNW_LOCAL_ONLY
#include <errno.h>
#include <libunwind.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/agent/region.h"
#include "tests/targets/deep32.h"

#define OWN_SIGNAL 40
#define BURST 50
#define MAX 100000

enum way { FLOOR, SAME, CHANGED, BACKTRACE, STEP, NR_WAYS };
static const char *const names[] = { "floor", "same", "changed", "backtrace", "step" };

static struct agent_region *region;
static volatile enum way way;
static volatile int nr_frames;
static uint32_t times[NR_WAYS][MAX];
static size_t nr_times, rounds;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_own(int number, siginfo_t *info, void *context)
{
	void *frames[64];
	unw_cursor_t cursor;
	int nr = 0;

	(void)number;
	(void)info;
	if (way == BACKTRACE)
		nr_frames = unw_backtrace(frames, 64);
	if (way != STEP || unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME))
		return;
	do
		nr++;
	while (nr < 64 && unw_step(&cursor) > 0);
	nr_frames = nr;
}

/* Finds sprof's shared memory in this process: the only mapping with its magic number. */
static void find_region(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		uint64_t start, end;
		struct agent_region *r;

		if (!strstr(line, "sprof") || sscanf(line, "%lx-%lx rw", &start, &end) != 2)
			continue;
		r = (struct agent_region *)start;
		if (end - start >= sizeof(*r) && r->magic == REGION_MAGIC)
			region = r;
	}
	if (f)
		fclose(f);
}

static uint32_t once(enum way by)
{
	siginfo_t info = { .si_signo = OWN_SIGNAL, .si_code = SI_QUEUE };
	pid_t pid = getpid();
	uint64_t before;

	way = by;
	if (by == CHANGED) {
		memset(region->known, 0, sizeof(region->known));
		for (size_t i = 0; i < REGION_NR_PATHS; i++)
			region->paths[i].generation = 0;
	}
	if (by == SAME || by == CHANGED) {
		int slot = agent_slot_find(region, pid);

		info.si_signo = region->signal;
		info.si_code = SI_TIMER;
		info.si_overrun = 0;
		info.si_ptr = (void *)agent_signal_value(region->cookie, (uint32_t)slot);
	}
	before = now();
	syscall(SYS_rt_tgsigqueueinfo, pid, pid, info.si_signo, &info);
	return (uint32_t)(now() - before);
}

/* Takes the ways in turn, and not faster than the recorder drains the samples. */
NOIPA void measure(void)
{
	for (size_t n = 0; n < rounds; n++) {
		for (enum way by = 0; by < NR_WAYS; by++) {
			for (int i = 0; i < BURST; i++) {
				uint32_t took = once(by);

				if (n) /* the first round warms up */
					times[by][(n - 1) * BURST + (size_t)i] = took;
			}
			nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
		}
	}
	nr_times = (rounds - 1) * BURST;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_own, .sa_flags = SA_SIGINFO | SA_RESTART };

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	if (rounds < 2 || rounds > MAX / BURST)
		return 2;
	sigfillset(&action.sa_mask);
	sigaction(OWN_SIGNAL, &action, NULL);
	for (uint64_t end = now() + 1000000000; now() < end;) /* sprof brings rows and a slot */
		;
	find_region();
	if (!region || agent_slot_find(region, getpid()) < 0) {
		fprintf(stderr, "sprof does not sample this program by timers\n");
		return 1;
	}
	deep(measure);
	for (enum way by = 0; by < NR_WAYS; by++) {
		qsort(times[by], nr_times, sizeof(**times), compare);
		printf("%s %u\n", names[by], times[by][nr_times / 2]);
	}
	fprintf(stderr, "libunwind saw %d frames\n", nr_frames);
	return 0;
}
