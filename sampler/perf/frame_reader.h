/*
 * A process that reads the Python frames of threads right after they were sampled. There is one for
 * each CPU, bound to it. The sample wakes it, so the kernel gives it the CPU that the sampled
 * thread has: while it reads, that thread stands still where it was sampled. No thread is stopped,
 * and no right is needed beyond reading the memory. The kernel does not promise this, so it is
 * checked: the C stack is that of the sample (frame_walk.c), and the thread's switches tell when it
 * stopped and went on (python_stacks.c). On a busy machine the kernel may hand the CPU to others
 * first: it must have taken it from the thread all the more promptly then.
 *
 * It is a process, because a read of a hostile target's memory may never return.
 */
#ifndef SPROF_FRAME_READER_H
#define SPROF_FRAME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct reader_shared;
struct reader_targets;

struct reader_config {
	int cpu;
	size_t cpu_index; /* distinguishes its numbers of code objects from those of others */
	int event_fd;	  /* the perf event whose ring has the samples of this CPU */
	size_t ring_size; /* bytes */
	bool has_chain;	  /* samples carry a call chain */
	int wake_fd;	  /* an eventfd that wakes the recorder */
	const struct reader_targets *targets;
	struct reader_shared *shared;
};

/*
 * Forks a reader, which ends with the calling thread. Returns its process id or -errno. It can be
 * started again with the same memory after it was killed.
 */
pid_t frame_reader_start(const struct reader_config *config);

/*
 * Takes from the text of /proc/PID/schedstat how long the process has been runnable without a CPU.
 * false: the kernel does not say.
 */
bool frame_reader_waited(const char *text, uint64_t *ret_ns);

#endif
