/*
 * Reads the Python frames of a stopped thread of another process, with the walk of
 * core/portable/pyframes.h. While the thread is stopped its frames and their code objects do not
 * change.
 */
#ifndef SPROF_STOPPED_THREAD_H
#define SPROF_STOPPED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/runtimes/python/merge_frames.h"

struct code_string;
struct process;
struct py_layout;
struct python_codes;

/*
 * Finds the CPython of a process: its layout at the addresses of the process. false: there is none
 * (why is "") or an unsupported one (why says which check failed).
 */
bool python_find(const struct process *process, struct py_layout *ret_layout, char *why,
		 size_t why_size);

#define PYTHON_KNOWN_CODES 256u	 /* power of two */
#define PYTHON_BLOCK_SIZE 16384u /* power of two */
#define PYTHON_BLOCKS 512u	 /* power of two */

/* Reads a process of which a thread is stopped. */
struct python_reader {
	pid_t pid;
	const struct py_layout *layout;
	/* As remote_read(); NULL: the caller reads by itself, and waits for as long as it takes. */
	ssize_t (*read)(pid_t pid, uint64_t address, void *to, size_t size);
	/* What was read before a walk is still valid; else it may be of an earlier stop. */
	bool keeps;
	struct python_codes *codes; /* where code objects are added, */
	uint64_t next_id;	    /* with numbers from this on */
	struct known_code {
		uint64_t address, id;
	} known[PYTHON_KNOWN_CODES]; /* met during this stop */
	/*
	 * Memory read during this stop, for readers of very many objects, which lie close together.
	 * NULL: each object is read separately.
	 */
	struct python_block {
		uint64_t address;
		size_t size;
		uint8_t bytes[PYTHON_BLOCK_SIZE];
	} * blocks;
};

/* 0, or -1: not all of it can be read. */
int python_reader_read(struct python_reader *reader, void *to, size_t size, uint64_t address);
/* Reads a str; empty where there is none. */
void python_reader_string(struct python_reader *reader, uint64_t address, struct code_string *to);
/* The frame word of the interpreter frame at an address. false: there is no frame. */
bool python_reader_frame(struct python_reader *reader, uint64_t frame, uint64_t *ret_word);

struct python_stopped {
	struct python_runs runs; /* for python_merge(); runs.words is `words` */
	uint64_t thread_state;	 /* PyThreadState; 0 = the thread has none */
	bool broken;		 /* some frames could not be read */
	size_t max_words;
	uint64_t words[];
};

struct python_stopped *python_stopped_new(size_t max_words);

/*
 * Reads the frames of the thread with this thread pointer (fs base). Gives up at `deadline_ns`
 * (CLOCK_MONOTONIC) with `broken` set, because the target waits.
 */
void python_stopped_walk(struct python_stopped *stopped, struct python_reader *reader,
			 uint64_t thread_pointer, uint64_t deadline_ns);

#endif
