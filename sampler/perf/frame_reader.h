/*
 * A process that reads the Python frames of threads right after they were sampled. There is one for
 * each CPU, bound to it. The sample wakes it, so the kernel gives it the CPU that the sampled
 * thread has: while it reads, that thread stands still where it was sampled. No thread is stopped,
 * and no right is needed beyond reading the memory. The kernel does not promise this, so the
 * recorder checks it by the records of thread switches (python_stacks.c).
 *
 * It is a process, because a read of a hostile target's memory may never return.
 */
#ifndef SPROF_FRAME_READER_H
#define SPROF_FRAME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/portable/pycode.h"
#include "core/portable/pylayout.h"
#include "core/portable/ring.h"

#define READER_PROCESSES 1024u
#define READER_RING_WORDS 65536u /* power of two */
#define READER_MAX_WORDS 4096u	 /* of one stack */

enum reader_record {
	READER_CODE = 1, /* a struct code_record and its line table follow */
	READER_STACK,	 /* a struct reader_stack and its words follow */
};

/*
 * The Python frames of a sampled thread. As words of struct python_runs (merge_frames.h): each run
 * is its boundary and its frames.
 */
struct reader_stack {
	int32_t pid, tid;
	uint64_t sampled_ns;
	uint64_t read_ns; /* when all of it had been read */
	uint32_t nr_words;
	uint8_t known;	/* the thread has a state in an interpreter */
	uint8_t broken; /* frames are missing */
	uint8_t gil;	/* enum py_gil */
	uint8_t pad;
};
_Static_assert(sizeof(struct reader_stack) == 32, "whole words");

/* What readers know of the targets. The recorder writes it. */
struct reader_targets {
	uint32_t nr;
	uint32_t forget; /* changed: code objects are to be sent again */
	int32_t pids[READER_PROCESSES]; /* 0: unused */
	/* of each layout: odd while it is being written */
	uint32_t turns[READER_PROCESSES];
	struct py_layout layouts[READER_PROCESSES];
};

/* Of one reader, shared with the recorder. */
struct reader_shared {
	uint64_t busy_ns; /* since when it has been reading; 0: it is not */
	int32_t busy_pid;
	int32_t pad;
	struct ring ring; /* the reader produces */
	uint64_t words[READER_RING_WORDS];
};

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

#endif
