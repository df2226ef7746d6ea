/*
 * The memory that the readers of Python frames (frame_reader.h) share with the recorder: what they
 * need to know of the targets, and a ring for each reader with what it has read.
 */
#ifndef SPROF_READER_MEMORY_H
#define SPROF_READER_MEMORY_H

#include <stdint.h>

#include "core/portable/pycode.h"
#include "core/portable/pylayout.h"
#include "core/portable/ring.h"

#define READER_PROCESSES 1024u
#define READER_RING_WORDS 65536u /* power of two */
#define READER_MAX_WORDS 4096u	 /* of one stack */

/* The word of a record that says its kind and the process that was read. */
#define READER_WORD(kind, pid) ((uint64_t)(uint32_t)(pid) << 32 | (uint32_t)(kind))
#define READER_KIND(word) ((uint32_t)(word))
#define READER_PID(word) ((uint32_t)((word) >> 32))

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
	uint8_t late;	/* the reader waited for its CPU: others may have run before it */
};
_Static_assert(sizeof(struct reader_stack) == 32, "whole words");

/* What readers know of the targets. The recorder writes it. */
struct reader_targets {
	uint32_t nr;
	uint32_t forget;		/* changed: code objects are to be sent again */
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

#endif
