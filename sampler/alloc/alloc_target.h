/* A process whose allocations are sampled: the inside of allocations.h. */
#ifndef SPROF_ALLOC_TARGET_H
#define SPROF_ALLOC_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/alloc/allocations.h"
#include "sampler/alloc/hook_set.h"
#include "sampler/alloc/python_tables.h"
#include "sampler/alloc/sample_rate.h"
#include "sampler/alloc/target_end.h"

struct alloc_samples;
struct sink;
struct tensor_levels;
struct walk_target;

struct alloc_target {
	pid_t pid;
	struct alloc_function **functions; /* names are ours, paths too */
	size_t nr_functions, functions_capacity;
	/* Of its Python, found while it is attached to; they lie behind the functions. */
	struct alloc_function slots[PYTHON_NR_SLOTS];
	size_t nr_slots;
	const char *python_why; /* why small objects are missed; NULL: none are */
	struct hook_set hooks;
	size_t nr_stubs; /* that were written into it */
	size_t nr_noted; /* of these: own_codes_note() */
	struct walk_target *walk;
	struct alloc_shared *shared; /* as mapped here; the target may write anything into it */
	int shared_fd, space_fd, arena_fd; /* the first is ours */
	bool on, is_told;
	size_t nr_told; /* of the functions that are left out */
	bool is_python_told;
	bool only_python;	 /* other samples are left out */
	bool only_tensors;	 /* nothing but their report hook is hooked */
	uint64_t nr_left_out;	 /* of such samples */
	uint64_t left_out_bytes; /* that they stand for */
	/* In the target; 0: not mapped. */
	uint64_t code, private_memory, shared_at, end;
	bool has_code;	/* the memory at `code` is ours */
	uint64_t owner; /* as in struct alloc_shared */
	struct alloc_samples *samples;
	uint64_t start_ns; /* earlier allocations are left out */
	uint64_t stop_ns;  /* none are sampled any more, while frees still are; 0: they are */
	uint64_t interval; /* as we set it */
	uint64_t least_interval, greatest_interval; /* that were used */
	uint64_t nr_recent;			    /* draws since the interval was adapted */
	uint64_t cpu_ns;			    /* of the process, when it was adapted */
	struct alloc_taking taking;		    /* so far, then */
	/* As in struct fact_memory_held. */
	uint64_t before_bytes, after_bytes, live_bytes;
	uint64_t held_ns; /* how long all its threads stood still, and how many they were */
	size_t nr_held;
	struct tensor_levels *tensors;
	struct target_end watch;
	uint64_t end_ns; /* when it was seen to have ended; 0: it runs */
	struct alloc_target *next;
};

/*
 * own_code.c: where our code was in processes, and which of it are instructions of hooked
 * functions. Zeros: nowhere.
 */
struct own_codes {
	struct own_code *codes;
	size_t nr, capacity;
};

void own_codes_fini(struct own_codes *codes);
void own_codes_add(struct own_codes *codes, pid_t pid, uint64_t start);
/* Notes what stubs have moved that were written since the last call. */
void own_codes_note(struct own_codes *codes, struct alloc_target *target, struct sink *sink);
/* As allocations_own_code(). */
bool own_codes_find(const struct own_codes *codes, pid_t pid, uint64_t address,
		    uint32_t *ret_module, uint64_t *ret_address);

/*
 * alloc_attach.c: maps our memory into the process and turns the hooks on. 0, or -errno and the
 * reason; then nothing is left there.
 */
int alloc_target_attach(struct alloc_target *target, struct inject_reason *reason);
/*
 * Hooks functions of t->functions from number `from` on, beside those that are hooked. 0, or -errno
 * and the reason; then the hooks are those from before.
 */
int alloc_target_extend(struct alloc_target *target, size_t from, struct inject_reason *reason);
/*
 * Turns those hooks on again that are gone because their module was mapped anew. 0, also where none
 * are gone; or -errno and the reason.
 */
int alloc_target_renew(struct alloc_target *target, struct inject_reason *reason);
/*
 * Turns the hooks off, waits until no thread is in our code, and unmaps all. 0, also where the
 * process has ended; -errno and the reason: what had to stay.
 */
int alloc_target_detach(struct alloc_target *target, struct inject_reason *reason);

#endif
