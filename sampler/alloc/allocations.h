/*
 * Samples the memory that a running process allocates, by hooks in its allocation functions:
 * columns allocated and allocations, and at the end live and live-objects, each with the stack that
 * asked for the memory. What is sampled, and why the sums are unbiased, is in
 * sampler/agent/alloc/countdown.c; how a function is hooked in sampler/alloc/x86_64/hook_code.h.
 *
 *	allocations_new		for one recording
 *	allocations_attach	for each process
 *	allocations_start
 *	allocations_drain ...
 *	allocations_stop	the hooks are removed, the live blocks are written
 *	allocations_free
 */
#ifndef SPROF_ALLOCATIONS_H
#define SPROF_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/agent/alloc/alloc_region.h"
#include "sampler/inject/reason.h"

struct allocations;
struct sandbox;
struct sink;
struct table_cache;

/* The bytes of a function that are compared with its file. */
#define ALLOC_FILE_BYTES 32u

/* An allocation function in a process. */
struct alloc_function {
	char *name;
	const char *path;   /* of its module */
	unsigned int entry; /* as in alloc_names.h */
	uint64_t address, size;
	uint64_t text_start, text_end;	/* the mapping that it lies in */
	uint8_t file[ALLOC_FILE_BYTES]; /* how the file has it */
	/*
	 * The module's malloc serves the program, as far as we know: it is an error if it cannot be
	 * hooked.
	 */
	bool is_main;
	/* `address` is a word of memory that holds the function's address; all else is 0. */
	bool is_slot;
	uint32_t limit; /* sizes above it are not counted; 0: all are */
	bool by_malloc; /* a sampled block is to come from malloc(3), whose hooks see it end */
};

#define ALLOCATIONS_INTERVAL (512ull << 10) /* bytes between samples, to begin with */

/*
 * `interval`: mean bytes between samples; 0: it begins with ALLOCATIONS_INTERVAL and follows the
 * rate at which memory is allocated: see sample_rate.h. `python`: stacks have Python
 * frames. Files are parsed in the sandbox, which must outlive it. 0 or -errno, not reported.
 */
int allocations_new(uint64_t interval, bool python, const struct sandbox *sandbox,
		    struct table_cache *cache, struct allocations **ret);
void allocations_free(struct allocations *allocations); /* NULL is fine */
/* Before the first process: the functions are those of tensors alone, and nothing is sampled. */
void allocations_only_tensors(struct allocations *allocations);
/*
 * Before the first process: only what Python's allocators or code called by Python have asked for
 * is a sample. What is left out is counted and said.
 */
void allocations_keep_pythons(struct allocations *allocations);

/*
 * Hooks these functions of a process, all at once. 0, or -errno and the reason; then nothing is
 * left in it. Functions that are not hooked, because they cannot be and nothing depends on them,
 * are named in warnings. What was allocated before that is left out.
 */
int allocations_attach(struct allocations *allocations, pid_t pid,
		       const struct alloc_function *functions, size_t nr,
		       struct inject_reason *reason);

/* Hooks functions of modules that the process has loaded since. As allocations_attach(). */
int allocations_extend(struct allocations *allocations, pid_t pid,
		       const struct alloc_function *functions, size_t nr,
		       struct inject_reason *reason);
/*
 * Hooks functions again whose module was unmapped and mapped anew meanwhile. 0, or -errno and the
 * reason.
 */
int allocations_renew(struct allocations *allocations, pid_t pid, struct inject_reason *reason);
/* Ends with one process, as allocations_stop() does with all. */
void allocations_end(struct allocations *allocations, pid_t pid, struct sink *sink);

/* NULL is fine for these three. What was allocated before the start is left out. */
void allocations_start(struct allocations *allocations);
/* Moves samples into the sink; to be called several times a second. */
void allocations_drain(struct allocations *allocations, struct sink *sink);
/* Removes the hooks and writes what is live. Reports what could not be removed. */
void allocations_stop(struct allocations *allocations, struct sink *sink);

/* How long the threads of the last process stood still, and how many they were. */
void allocations_stopped(const struct allocations *allocations, uint64_t *ret_ns,
			 size_t *ret_threads);

/*
 * Was our code at that address of the process? Also after the end. If it was an instruction of a
 * hooked function that the hook has moved there, *ret_module and *ret_address are where it was, as
 * a frame of the sink says it; else the module is PROFILE_NONE.
 */
bool allocations_own_code(const struct allocations *allocations, pid_t pid, uint64_t address,
			  uint32_t *ret_module, uint64_t *ret_address);

/* As source_ops.open_module and open_root. NULL is fine. */
int allocations_open_module(const struct allocations *allocations, uint32_t module);
int allocations_open_root(const struct allocations *allocations, uint32_t module,
			  size_t *ret_prefix);

#endif
