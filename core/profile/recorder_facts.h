/* Facts of the recorder itself: see facts.h for what a fact is. */
#ifndef SPROF_RECORDER_FACTS_H
#define SPROF_RECORDER_FACTS_H

#include <stdint.h>

/* Why a recorder changed how often it samples. On disk too: explicit values, append only. */
enum rate_reason {
	RATE_TRIGGERED = 1,  /* a trigger fired: a higher rate for a while */
	RATE_CALM = 2,	     /* the time of the trigger is over */
	RATE_OVER_LIMIT = 3, /* the recorder cost more than --max-overhead */
	RATE_IN_LIMIT = 4,   /* it costs less again */
	NR_RATE_REASONS
};

/*
 * How often samples are taken from a moment on, where that changed while recording. No key; in
 * order of time. Until the first row, profile_meta.freq_hz holds.
 */
struct fact_rate {
	uint64_t time_ns;
	uint64_t freq_hz;
	uint64_t reason;    /* enum rate_reason */
	uint64_t cost_ppm;  /* of one CPU, since the change before; 0: not measured */
	uint64_t limit_ppm; /* --max-overhead; 0: none */
};

/* What recording cost. Key: start_ns. A flight recorder has a row for each segment. */
struct fact_cost {
	uint64_t start_ns, duration_ns; /* the time that the row is about */
	uint64_t cpu_ns;		/* of the recorder and the processes that it has started */
	uint64_t kernel_ns;		/* of its BPF programs, as the kernel counts it */
	uint64_t kernel_known;		/* 1: kernel_ns was counted */
	uint64_t memory_bytes;		/* the largest resident memory of the recorder so far */
};

/* The tables of a recorder that may be full. On disk too: explicit values, append only. */
enum limit {
	LIMIT_FILES = 1,	  /* mapped files of all users */
	LIMIT_USER_FILES = 2,	  /* mapped files of one user */
	LIMIT_ROWS = 3,		  /* unwind rows of all files */
	LIMIT_USER_ROWS = 4,	  /* unwind rows of one user's files */
	LIMIT_FILE_ROWS = 5,	  /* unwind rows of one file */
	LIMIT_RULES = 6,	  /* distinct unwind rules of all files */
	LIMIT_USER_RULES = 7,	  /* distinct unwind rules that one user's files brought */
	LIMIT_FILE_RULES = 8,	  /* distinct unwind rules of one file */
	LIMIT_MAPPINGS = 9,	  /* executable mappings of one process */
	LIMIT_MEMORY = 10,	  /* memory that the kernel gives for tables */
	LIMIT_PROCESSES = 11,	  /* processes that are followed */
	LIMIT_CHILDREN = 12,	  /* processes in the kernel's table of children */
	LIMIT_OPEN_FILES = 13,	  /* ulimit -n */
	LIMIT_PYTHONS = 14,	  /* interpreters at distinct addresses */
	LIMIT_THREADS = 15,	  /* threads of one process that can have a timer */
	LIMIT_DELETED_FILES = 16, /* deleted files that are kept open for their names */
	LIMIT_READS = 17,	  /* processes whose memory could not be read in time */
	LIMIT_LOST_CLAIMS = 18,	  /* samples that a process can have lost */
	LIMIT_GUESSES = 19,	  /* guesses of callers in the stacks of one process or user */
	LIMIT_OWN_MEMORY = 20,	  /* memory that the recorder may have: files without unwind rows */
	LIMIT_COPIES = 21,	  /* stacks through such files that are copied in a second */
	LIMIT_OWN_SUM = 22,	  /* memory that the recorder may have: all that it takes */
	LIMIT_OWN_NAMES = 23,	  /* the same: segments with names left out */
	NR_LIMITS
};

/* A limit that was hit while recording. Key: limit. */
struct fact_limit {
	uint64_t limit; /* enum limit */
	uint64_t text;	/* string: which limit, and what it did to the recording */
	uint64_t count; /* times it was hit */
};

#endif
