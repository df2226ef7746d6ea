/*
 * sig_storm CPU-MILLISECONDS: computes while a timer sends it 5 000 signals a second, for that long
 * or until the file named by END_FILE appears. Every expiry must arrive, as a signal or as its
 * overrun, in order, and must leave every register unchanged. Prints `cpu_ns N signals N expiries N
 * bad N`; exits with status 1 if an expiry was lost or something was bad.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 200000

static volatile sig_atomic_t nr_signals, nr_bad;
static volatile uint64_t nr_expiries;
static timer_t timer;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	nr_bad += info->si_code != SI_TIMER || info->si_value.sival_int != 4711;
	nr_signals++;
	nr_expiries += 1 + (uint64_t)timer_getoverrun(timer);
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Uses all integer and floating-point registers, for a result that is known. */
static __attribute__((noinline)) int compute(void)
{
	double a = 1, b = 2, c = 3, d = 5;
	uint64_t x = 1, y = 2, z = 3;

	for (int i = 0; i < 20000; i++) {
		a += b;
		b -= 1e-3;
		c += d * 0.5;
		x += y ^ z;
		y += 3;
		z ^= x >> 3;
	}
	return (c == 50003) && (int64_t)(a + b) && y == 60002 && (x || z);
}

int main(int argc, char **argv)
{
	uint64_t cpu_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000, start, want,
		 before;
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 5 };
	struct itimerspec every = { { 0, PERIOD_NS }, { 0, PERIOD_NS } },
			  never = { { 0, 0 }, { 0, 0 } };
	const char *end_file = getenv("END_FILE");

	event.sigev_value.sival_int = 4711;
	sigaction(SIGRTMIN + 5, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return 2;
	before = read_clock(CLOCK_MONOTONIC);
	timer_settime(timer, 0, &every, NULL);
	start = read_clock(CLOCK_MONOTONIC);
	while (read_clock(CLOCK_PROCESS_CPUTIME_ID) < cpu_ns &&
	       !(end_file && !access(end_file, F_OK)))
		nr_bad += !compute();
	want = (read_clock(CLOCK_MONOTONIC) - start) / PERIOD_NS;
	usleep(2000); /* receive the last signals */
	timer_settime(timer, 0, &never, NULL);
	before = (read_clock(CLOCK_MONOTONIC) - before) / PERIOD_NS;
	printf("cpu_ns %lu signals %d expiries %lu of %lu to %lu bad %d\n",
	       (unsigned long)read_clock(CLOCK_PROCESS_CPUTIME_ID), (int)nr_signals,
	       (unsigned long)nr_expiries, (unsigned long)want, (unsigned long)before, (int)nr_bad);
	return nr_bad || nr_expiries < want || nr_expiries > before;
}
