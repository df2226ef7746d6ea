/*
 * Reads what each thread waits in from /proc/PID/task/TID/syscall, ranks the threads by it and
 * sorts them.
 */
#include "sampler/inject/pick_thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/order.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"

/*
 * The file says "running", or "NR 0x... 0x... (six) SP PC"; NR is -1 for a thread that waits
 * outside a system call.
 */
enum inject_rank pick_thread_rank(pid_t pid, pid_t tid)
{
	uint64_t args[6];
	char name[48], text[256];
	long nr;

	snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
	if (remote_text(pid, name, text, sizeof(text)))
		return INJECT_RANK_RUNS;
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

	return ORDER(x->rank, y->rank) ?: ORDER(x->tid, y->tid);
}

size_t pick_threads(pid_t pid, struct picked_thread *picked)
{
	DIR *threads = proc_threads(pid);
	size_t nr = 0;
	pid_t tid;

	while (nr < PICK_MAX_THREADS && (tid = proc_next(threads)))
		picked[nr++] = (struct picked_thread){ tid, pick_thread_rank(pid, tid) };
	proc_close(threads);
	qsort(picked, nr, sizeof(*picked), compare);
	return nr;
}
