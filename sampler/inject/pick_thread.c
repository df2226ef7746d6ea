/*
 * Reads what each thread waits in from /proc/PID/task/TID/syscall, ranks the threads by it and
 * sorts them.
 */
#include "sampler/inject/pick_thread.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/untrusted/remote_read.h"

/*
 * The file says "running", or "NR 0x... 0x... (six) SP PC"; NR is -1 for a thread that waits
 * outside a system call.
 */
enum inject_rank pick_thread_rank(pid_t pid, pid_t tid)
{
	uint64_t args[6];
	char name[48], text[256];
	size_t n;
	FILE *f;
	long nr;

	snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
	f = remote_open(pid, name);
	if (!f)
		return INJECT_RANK_RUNS;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	if (!n)
		return INJECT_RANK_RUNS;
	text[n] = '\0';
	if (sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
		   &nr, &args[0], &args[1], &args[2], &args[3], &args[4], &args[5]) != 7 ||
	    nr < 0)
		return INJECT_RANK_RUNS;
	return inject_restart_rank((uint64_t)nr, args);
}

/*
 * Of threads of the same rank the first thread comes first: our frame can stand on its own stack.
 */
static int compare(const void *a, const void *b)
{
	const struct picked_thread *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

size_t pick_threads(pid_t pid, struct picked_thread *picked)
{
	struct dirent *entry;
	char path[64];
	size_t nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (nr < PICK_MAX_THREADS && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0)
			picked[nr++] = (struct picked_thread){ tid, pick_thread_rank(pid, tid) };
	}
	closedir(dir);
	qsort(picked, nr, sizeof(*picked), compare);
	return nr;
}
