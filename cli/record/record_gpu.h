/* The GPU side of sprof record: programs find libsprof-gpu.so, and what it collects is recorded. */
#ifndef SPROF_RECORD_GPU_H
#define SPROF_RECORD_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/record/gpu_processes.h"

#define GPU_LIBRARY "libsprof-gpu.so"

enum gpu_mode {
	GPU_AUTO, /* where a program uses a GPU or NVTX */
	GPU_ON,	  /* and it is an error where that cannot be */
	GPU_OFF,
};

struct launch;
struct record_gpu;
struct sink;

/* What is collected of all that happens, and the stacks of which calls. */
struct record_gpu_opts {
	enum gpu_mode mode;
	uint32_t capture;	  /* enum gpu_capture */
	const char *capture_name; /* of GPU_CAPTURE_RANGE: NAME or NAME@DOMAIN */
	bool capture_once;	  /* the first window is the last */
	uint32_t stack_classes;	  /* struct gpu_config */
	uint64_t stack_min_ns;
	enum gpu_processes processes;
	uint64_t timeline; /* activities that are kept one by one */
};

#define GPU_TIMELINE_DEFAULT 100000
#define GPU_TIMELINE_MAX 1000000

/* `ret_gpu` is NULL with GPU_OFF, and with GPU_AUTO where the library is missing. 0 or -errno,
 * reported. */
int record_gpu_new(const struct record_gpu_opts *opts, bool python, struct record_gpu **ret_gpu);
/* From here on NULL is fine everywhere, and does nothing. */
void record_gpu_free(struct record_gpu *gpu);

/* What the program to be started needs in its environment to find the library, and the library us. */
void record_gpu_set_environment(struct record_gpu *gpu, struct launch *launch);
/* The sink that CPU samples go to, on their way to `sink`: idle GPUs are blamed on them. */
struct sink *record_gpu_watch(struct record_gpu *gpu, struct sink *sink);
/*
 * Finds the library in running processes, or has those that use CUDA load it; before a source puts its own code into
 * them. 0, or with GPU_ON -errno where one has none, reported.
 */
int record_gpu_connect(struct record_gpu *gpu, const pid_t *pids, size_t nr_pids);
/* Begins to collect in these; after record_gpu_watch(). */
void record_gpu_join(struct record_gpu *gpu);
/* Nothing is collected before that time, CLOCK_MONOTONIC; before any process is there. */
void record_gpu_wait_until(struct record_gpu *gpu, uint64_t time_ns);
/* Was a window of capture open then, in any process? True where everything is captured. */
bool record_gpu_captures(const struct record_gpu *gpu, uint64_t time_ns);
/* With capture_once: has the window been closed? */
bool record_gpu_has_captured(const struct record_gpu *gpu);
/* Takes who has come and what has been collected. */
void record_gpu_drain(struct record_gpu *gpu);
/* How long the recorder may wait until the next time, at most. */
int record_gpu_timeout_ms(const struct record_gpu *gpu, int timeout_ms);
/* Ends it in every process that still runs, and writes the rest. */
void record_gpu_stop(struct record_gpu *gpu);
/* As source_ops.open_module, for modules that only GPU launches brought in. */
int record_gpu_open_module(const struct record_gpu *gpu, unsigned int module);
/* With GPU_ON, after the end: says so where no process has used the library. */
void record_gpu_check(const struct record_gpu *gpu);

#endif
