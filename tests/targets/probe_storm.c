/*
 * Puts breakpoints on malloc, calloc, realloc and free of the C library in a process and takes them
 * away again, as tracers do with uprobes:
 *
 *	probe_storm PID
 *
 * until the file $END_FILE appears or the process has ended. Prints how often it did, and how many
 * calls of the thread PID were counted; status 2: it may not, or the kernel has no uprobes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR_FUNCTIONS 4
static const char *const names[NR_FUNCTIONS] = { "malloc", "calloc", "realloc", "free" };

static char path[4096]; /* of the C library */

/* Where in its file the function is; 0: it was not found. */
static uint64_t find_offset(const char *name)
{
	uint64_t at = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name), start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4200];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &offset, path) !=
			    4 ||
		    at < start || at >= end)
			continue;
		fclose(maps);
		return at - start + offset;
	}
	return 0;
}

static int type_of_uprobes(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int type = -1;

	if (!f || fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f)
		fclose(f);
	return type;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)atoi(argv[1]) : 0;
	const char *end_file = getenv("END_FILE");
	struct perf_event_attr attr = { .size = sizeof(attr), .type = (uint32_t)type_of_uprobes() };
	uint64_t offsets[NR_FUNCTIONS], nr_calls = 0, count;
	long nr = 0;

	for (int i = 0; i < NR_FUNCTIONS; i++)
		offsets[i] = find_offset(names[i]);
	attr.config1 = (uint64_t)(uintptr_t)path;
	while (!kill(pid, 0) && end_file && access(end_file, F_OK)) {
		int fd;

		attr.config2 = offsets[nr % NR_FUNCTIONS];
		fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && !nr) {
			perror("probe_storm");
			return 2;
		}
		nanosleep(&(struct timespec){ 0, 1000000 + nr * 7919 % 5000000 }, NULL);
		if (read(fd, &count, sizeof(count)) == sizeof(count))
			nr_calls += count;
		close(fd);
		nanosleep(&(struct timespec){ 0, 1000000 + nr * 104729 % 5000000 }, NULL);
		nr++;
	}
	printf("%ld breakpoints, %llu calls\n", nr, (unsigned long long)nr_calls);
	return 0;
}
