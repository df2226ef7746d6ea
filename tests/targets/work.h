/*
 * What the targets share: work of a known amount, and the measured truth about where it went.
 *
 * Work is BURN(units): a loop of dependent multiplications, the same code wherever it is used, so
 * the shares of a target follow from its numbers of units. Because machines also run other things,
 * each target measures its parts (CPU time of the thread) and prints the truth at its end, as
 * collapsed stacks on stdout:
 *
 *	comm;main;outer;leaf NANOSECONDS
 *
 * The frames below main or the thread's function are left out; `*` is one frame of any name, `**`
 * at the end any number of frames. tests/root/shares compares this with the output of `sprof fold`.
 *
 * A part lasts several milliseconds at a time, so it covers several sample periods.
 */
#ifndef SPROF_TESTS_WORK_H
#define SPROF_TESTS_WORK_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

/* The function is neither inlined nor cloned nor called in another way than the source says. */
#define NOIPA __attribute__((noipa))
/* Placed after a call: keeps it from becoming a jump, which would drop the caller's frame. */
#define NO_TAIL_CALL() __asm__ volatile("")

/* Takes about 0.3 ms on a 3 GHz machine. A macro, because an inlined function would be a frame. */
#define BURN(units)                                                                                \
	do {                                                                                       \
		uint64_t x_ = 1;                                                                   \
		for (uint64_t i_ = (uint64_t)(units)*250000; i_; i_--) {                           \
			x_ = x_ * 6364136223846793005u + 1;                                        \
			__asm__ volatile("" : "+r"(x_));                                           \
		}                                                                                  \
	} while (0)

static inline uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * A hypervisor may stop the machine for a tenth of a second: the CPU clock runs on, but no
 * interrupt comes and nothing is sampled. A part that took far longer than usual is taken for such
 * a stop and counts as the usual time. The usual time still moves towards it, so that parts which
 * stay longer soon count in full.
 */
static inline uint64_t without_pause(uint64_t *usual, uint64_t ns)
{
	uint64_t before = *usual, most = 2 * before + 5000000;

	*usual = before ? (7 * before + (ns < most ? ns : most)) / 8 : ns;
	return before && ns > most ? before : ns;
}

/* Runs `call`, the same work each time, and adds its CPU time to the variable `sum`. */
#define TIMED(sum, call)                                                                           \
	do {                                                                                       \
		static __thread uint64_t usual_;                                                   \
		uint64_t start_ = cpu_ns();                                                        \
		call;                                                                              \
		(sum) += without_pause(&usual_, cpu_ns() - start_);                                \
	} while (0)

/* CPU time to use: argv[1], in milliseconds. */
static inline uint64_t budget_ns(int argc, char **argv)
{
	return (argc > 1 ? strtoull(argv[1], NULL, 10) : 2000) * 1000000;
}

/* Prints one line of truth in a single write, because processes share the output. */
static inline __attribute__((format(printf, 2, 3))) void truth(uint64_t ns, const char *chain, ...)
{
	char comm[16], *frames, *line;
	va_list args;
	int size;

	prctl(PR_GET_NAME, comm);
	va_start(args, chain);
	if (vasprintf(&frames, chain, args) < 0)
		abort();
	va_end(args);
	size = asprintf(&line, "%s;%s %llu\n", comm, frames, (unsigned long long)ns);
	if (size < 0 || fflush(stdout) || fwrite(line, 1, (size_t)size, stdout) != (size_t)size ||
	    fflush(stdout))
		abort();
	free(line);
	free(frames);
}

#endif
