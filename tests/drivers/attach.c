/*
 * Attaches to a process and detaches again and again, with running timers in between:
 *
 *	attach PID CYCLES [WINDOW_MS [FREQUENCY_HZ [cpu|wall|again]]]
 *
 * again: starts from a region as a timed-out attempt to attach leaves it, with one of our signals
 * pending in each thread.
 *
 * At the end it prints how long a thread stood still each time, in microseconds, how many handlers
 * ran in how many cycles, and `cycles N ok N`. Status 0: all cycles worked; 1: not all; 2: the
 * target was refused in the first cycle. The driver ends when the target does, or after the cycle
 * in which it gets SIGTERM.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/attach/attach.h"
#include "core/base/clock.h"
#include "sampler/inject/inject.h"
#include "sampler/timer/targets/timer_region.h"
#include "tests/drivers/distribution.h"

static volatile sig_atomic_t is_over;

struct job {
	pid_t pid;
	unsigned int window_ms;
	struct timer_region_config config;
	bool again;
	struct distribution begin, quiet, end;
	uint64_t nr_signals, nr_samples, nr_foreign, nr_with_signals;
};

static void count_sample(void *context, const struct agent_sample *sample, const uint64_t *words,
			 size_t nr_words)
{
	struct job *job = context;

	(void)sample;
	(void)words;
	(void)nr_words;
	job->nr_samples++;
}

static void want_threads(const struct job *job, struct timer_region *region)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)job->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			timer_region_want(region, atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
}

/* Does what the recorder does when no handler runs that could serve the slots. */
static void signal_all(const struct job *job, const struct timer_region *region)
{
	siginfo_t info = { .si_signo = region->shared->signal, .si_code = SI_QUEUE };
	struct dirent *entry;
	char path[64];
	DIR *dir;

	info.si_pid = getpid();
	info.si_ptr =
		(void *)(uintptr_t)agent_signal_value(region->shared->cookie, REGION_MAX_THREADS);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)job->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			syscall(SYS_rt_tgsigqueueinfo, job->pid, atoi(entry->d_name), info.si_signo,
				&info);
	}
	if (dir)
		closedir(dir);
}

static void sample(struct job *job, struct timer_region *region)
{
	uint64_t until = monotonic_ns() + job->window_ms * 1000000ull;

	do {
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
		want_threads(job, region);
		timer_region_beat(region);
		timer_region_read(region, count_sample, job);
	} while (monotonic_ns() < until);
}

static int cycle(struct job *job, struct inject_reason *reason)
{
	struct attach_stops stops;
	struct timer_region region;
	struct attach *attach;
	int err = timer_region_new(&job->config, &region);

	if (err)
		return err;
	want_threads(job, &region);
	if (job->again) {
		region.shared->signal = 62;
		region.shared->installed = 1;
		region.shared->state = AGENT_ON;
	}
	err = attach_begin(job->pid, &(struct attach_files){ region.fd, -1, 0, region.shared },
			   &attach, reason);
	if (!err) {
		if (job->again)
			signal_all(job, &region);
		sample(job, &region);
		err = attach_end(attach, &stops, reason);
		timer_region_read(&region, count_sample, job);
		distribution_add(&job->begin, stops.begin_ns);
		distribution_add(&job->quiet, stops.quiet_ns);
		distribution_add(&job->end, stops.end_ns);
		job->nr_signals += region.shared->nr_signals;
		job->nr_foreign += region.shared->nr_foreign;
		job->nr_with_signals += region.shared->nr_signals > 0;
	}
	timer_region_free(&region);
	return err;
}

static void print(struct job *job, long nr, long nr_ok, long nr_refused)
{
	distribution_print(&job->begin, "attach");
	distribution_print(&job->quiet, "detach, first stop");
	distribution_print(&job->end, "detach, last stop");
	printf("handlers %llu in %llu cycles, samples %llu, signals of others %llu\n",
	       (unsigned long long)job->nr_signals, (unsigned long long)job->nr_with_signals,
	       (unsigned long long)job->nr_samples, (unsigned long long)job->nr_foreign);
	printf("cycles %ld ok %ld refused %ld\n", nr, nr_ok, nr_refused);
}

static void on_term(int number)
{
	(void)number;
	is_over = 1;
}

int main(int argc, char **argv)
{
	struct job job = { .window_ms = 20, .config = { .period_ns = 4000000 } };
	long nr, nr_ok = 0, nr_refused = 0, n;

	if (argc < 3)
		return 2;
	job.pid = atoi(argv[1]);
	nr = atol(argv[2]);
	if (argc > 3)
		job.window_ms = (unsigned int)atoi(argv[3]);
	if (argc > 4)
		job.config.period_ns = 1000000000u / strtoul(argv[4], NULL, 10);
	if (argc > 5 && !strcmp(argv[5], "wall"))
		job.config.clock = AGENT_CLOCK_WALL;
	job.again = argc > 5 && !strcmp(argv[5], "again");
	signal(SIGTERM, on_term);
	for (n = 0; n < nr && !is_over && !kill(job.pid, 0); n++) {
		struct inject_reason reason = { 0 };
		int err = cycle(&job, &reason);

		if (err == -ESRCH && n)
			break;
		if (err && !n) {
			printf("refused: %s\nhint: %s\n%s", reason.why, reason.hint,
			       reason.only_outside ? "only from outside\n" : "");
			return 2;
		}
		if (err)
			printf("cycle %ld: %s: %s\n", n, strerror(-err), reason.why);
		nr_ok += !err;
		nr_refused += err == -EBUSY || err == -ENOEXEC;
	}
	print(&job, n, nr_ok, nr_refused);
	return nr_ok + nr_refused != n;
}
