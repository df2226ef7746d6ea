/*
 * The Python frames of a thread that is stopped, read from outside: the walk of core/portable/pyframes.h in
 * user space. While the thread is stopped its frames and their code objects stay what they are.
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
 * Looks among the mappings of a process for a CPython: its layout, at the addresses of the process.
 * false: it runs none, or one that is not known; then *why says which check failed ("" where there
 * is no interpreter).
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
	struct python_codes *codes; /* what code objects are goes in here */
	uint64_t next_id;	    /* under numbers from here on */
	struct known_code {
		uint64_t address, id;
	} known[PYTHON_KNOWN_CODES]; /* that were met during this stop */
	/*
	 * Memory that was read during this stop, for readers of very many objects, which lie close
	 * together. NULL: every object is read by itself.
	 */
	struct python_block {
		uint64_t address;
		size_t size;
		uint8_t bytes[PYTHON_BLOCK_SIZE];
	} * blocks;
};

/* 0, or -1: not all of it can be read. */
int python_reader_read(struct python_reader *reader, void *to, size_t size, uint64_t address);
/* A str; empty where there is none. */
void python_reader_string(struct python_reader *reader, uint64_t address, struct code_string *to);
/* The word of the frame at an address. false: there is none. */
bool python_reader_frame(struct python_reader *reader, uint64_t frame, uint64_t *ret_word);

struct python_stopped {
	struct python_runs runs; /* for python_merge(); runs.words is `words` */
	uint64_t thread_state;	 /* PyThreadState; 0 = the thread has none */
	bool broken;		 /* there are frames that could not be read */
	size_t max_words;
	uint64_t words[];
};

struct python_stopped *python_stopped_new(size_t max_words);

/*
 * Reads the frames of the thread whose thread pointer (fs base) is given. Stops reading at
 * `deadline_ns` (CLOCK_MONOTONIC), with `broken` set: the target waits.
 */
void python_stopped_walk(struct python_stopped *stopped, struct python_reader *reader,
			 uint64_t thread_pointer, uint64_t deadline_ns);

#endif
