/*
 * The GPU side of sprof record: makes programs load libsprof-gpu.so, and records what it collects.
 */
#ifndef SPROF_RECORD_GPU_H
#define SPROF_RECORD_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/gpu/gpu_processes.h"

#define GPU_LIBRARY "libsprof-gpu.so"

enum gpu_mode {
	GPU_AUTO, /* record it if a program uses a GPU or NVTX */
	GPU_ON,	  /* record it, and report an error if that is not possible */
	GPU_OFF,
};

struct launch;
struct profile;
struct record_gpu;
struct sandbox;
struct table_cache;
struct sink;

/* What is collected, when, and with which stacks. */
struct record_gpu_opts {
	enum gpu_mode mode;
	uint32_t capture;	  /* enum gpu_capture */
	const char *capture_name; /* of GPU_CAPTURE_RANGE: NAME or NAME@DOMAIN */
	bool capture_once;	  /* stop after the first window */
	uint32_t stack_classes;	  /* struct gpu_config */
	uint64_t stack_min_ns;
	enum gpu_processes processes;
	uint64_t timeline; /* how many activities are kept one by one */
	uint32_t api;	   /* enum gpu_want: further calls that are counted */
	uint64_t kinds;	   /* enum gpu_kind */
	/* how much of the time of launching threads the library may take; 0: any */
	uint32_t max_overhead_ppm;
	uint32_t pc_want;   /* enum gpu_want: samples inside kernels; 0: none */
	uint32_t pc_period; /* struct gpu_config */
};

#define GPU_TIMELINE_DEFAULT 100000
#define GPU_TIMELINE_MAX 1000000

/*
 * Files of targets are parsed in the sandbox. `ret_gpu` is NULL with GPU_OFF, and with GPU_AUTO if
 * the library is not installed. Returns 0 or -errno, reported.
 */
int record_gpu_new(const struct record_gpu_opts *opts, bool python, const struct sandbox *sandbox,
		   struct table_cache *cache, struct record_gpu **ret_gpu);
/* Every function below accepts NULL and then does nothing. */
void record_gpu_free(struct record_gpu *gpu);

/*
 * Sets the environment of the program to be started so that it loads the library, and the library
 * finds us.
 */
void record_gpu_set_environment(struct record_gpu *gpu, struct launch *launch);
/*
 * The sink to which CPU samples go on their way to `sink`: it charges the time of idle GPUs to
 * them.
 */
struct sink *record_gpu_watch(struct record_gpu *gpu, struct sink *sink);
/*
 * Connects to the library in running processes, or makes those that use CUDA load it. Must be
 * called before a source puts its own code into them. Returns 0, or with GPU_ON -errno if a process
 * cannot be collected from, reported.
 */
int record_gpu_connect(struct record_gpu *gpu, const pid_t *pids, size_t nr_pids);
/*
 * The same for processes that those have started, to be called afterwards. One that cannot be
 * connected to is no error.
 */
void record_gpu_connect_started(struct record_gpu *gpu, const pid_t *pids, size_t nr_pids);
/* Begins to collect in the connected processes. Must be called after record_gpu_watch(). */
void record_gpu_join(struct record_gpu *gpu);
/* Collects nothing before time_ns (CLOCK_MONOTONIC). Must be called before a process is added. */
void record_gpu_wait_until(struct record_gpu *gpu, uint64_t time_ns);
/* Was a capture window open in any process at time_ns? Always true without capture windows. */
bool record_gpu_captures(const struct record_gpu *gpu, uint64_t time_ns);
/* With capture_once: has the window closed? */
bool record_gpu_has_captured(const struct record_gpu *gpu);
/* Accepts new processes and takes what has been collected. */
void record_gpu_drain(struct record_gpu *gpu);
/* How long the recorder may wait at most before it calls record_gpu_drain() again. */
int record_gpu_timeout_ms(const struct record_gpu *gpu, int timeout_ms);
/* Ends collection in every process that still runs, and writes the rest. */
void record_gpu_stop(struct record_gpu *gpu);
/* As source_ops.open_module and open_root, for modules that only stacks of GPU launches contain. */
int record_gpu_open_module(const struct record_gpu *gpu, unsigned int module);
int record_gpu_open_root(const struct record_gpu *gpu, unsigned int module, size_t *ret_prefix);
/* Names frames of CUDA's libraries that the symbolizer could not name. */
void record_gpu_name_frames(const struct record_gpu *gpu, struct profile *vocabulary);
/* With GPU_ON, after the end: reports that no process used the library. */
void record_gpu_check(const struct record_gpu *gpu);

#endif
