/*
 * worst_run PID MS: prints how long, in microseconds, the longest runs of the BPF program of
 * process PID took in the next MS milliseconds: the longest, and that which one in a hundred runs
 * exceeds. The kernel only adds up runs (BPF_ENABLE_STATS), so the sums are read so often that few
 * runs lie between two readings; all time between two readings counts as one run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "core/base/clock.h"

#define MAX_RUNS 1000000

static uint64_t field(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

/* Reads the run time and the number of runs. 0, or -1 where this describes no BPF program. */
static int read_sums(const char *path, uint64_t *ret_ns, uint64_t *ret_runs)
{
	FILE *f = fopen(path, "r");
	char text[4096];
	size_t size;

	if (!f)
		return -1;
	size = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[size] = '\0';
	*ret_ns = field(text, "run_time_ns:");
	*ret_runs = field(text, "run_cnt:");
	return strstr(text, "run_time_ns:") ? 0 : -1;
}

/* The program that has run most: that of the samples. */
static int find_program(const char *pid, char *ret_path, size_t size)
{
	char folder[64], path[512];
	uint64_t most = 0, ns, runs;
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "/proc/%s/fdinfo", pid);
	d = opendir(folder);
	if (!d)
		return -1;
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (e->d_name[0] == '.' || read_sums(path, &ns, &runs) || ns <= most)
			continue;
		most = ns;
		snprintf(ret_path, size, "%s", path);
	}
	closedir(d);
	return most ? 0 : -1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static uint64_t times[MAX_RUNS];
	uint64_t end, before_ns, before_runs, ns, runs;
	size_t nr = 0;
	char path[512];

	if (argc != 3)
		return 2;
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0) {
		perror("worst_run: cannot time BPF programs");
		return 1;
	}
	nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
	if (find_program(argv[1], path, sizeof(path)) ||
	    read_sums(path, &before_ns, &before_runs)) {
		fprintf(stderr, "worst_run: process %s runs no BPF program\n", argv[1]);
		return 1;
	}
	end = monotonic_ns() + strtoull(argv[2], NULL, 10) * 1000000;
	while (monotonic_ns() < end && nr < MAX_RUNS) {
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
		if (read_sums(path, &ns, &runs))
			break;
		if (runs > before_runs)
			times[nr++] = ns - before_ns;
		before_ns = ns;
		before_runs = runs;
	}
	if (!nr)
		return 1;
	qsort(times, nr, sizeof(*times), by_value);
	printf("%.1f %.1f\n", (double)times[nr - 1] / 1000,
	       (double)times[nr - 1 - nr / 100] / 1000);
	return 0;
}
