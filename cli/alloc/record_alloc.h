/* What sprof record --alloc does: samples the memory that targets allocate, beside their time. */
#ifndef SPROF_RECORD_ALLOC_H
#define SPROF_RECORD_ALLOC_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct allocations;
struct profile;
struct record_alloc;
struct sandbox;
struct sink;
struct table_cache;

struct record_alloc_opts {
	bool wanted;
	bool tensors;	   /* sample what PyTorch's allocators report */
	bool python;	   /* keep only what Python, or code called by it, allocates */
	uint64_t interval; /* bytes between samples; 0: adapted to the rate of allocation */
	/* the source samples growth of resident memory; processes need not be hookable then */
	bool growth;
};

/* A child of record's struct argp; its input is a struct record_alloc_opts. */
extern const struct argp record_alloc_argp;
/*
 * Refuses combinations that cannot work. nr_named: processes given to -p; `program`: one is
 * started; `segments`: the folder of a flight recorder, or NULL.
 */
void alloc_opts_check(const struct record_alloc_opts *opts, size_t nr_named, bool program,
		      bool no_python, const char *segments, const char *source,
		      struct argp_state *state);

/* What sampling of allocations needs of a recording; what it points to must outlive the result. */
struct record_alloc_config {
	const struct record_alloc_opts *opts;
	const pid_t *pids;
	size_t nr_pids;
	bool no_children, no_python;
	/* Called while a program that starts is waited for: its constructors may talk to us. */
	void (*serve)(void *context);
	void *context;
	const struct sandbox *sandbox;
	struct table_cache *cache;
};

/*
 * Hooks the processes. *ret is NULL if no allocations are to be sampled. 0, or -errno, reported, if
 * one of the processes cannot be hooked.
 */
int record_alloc_open(const struct record_alloc_config *config, struct record_alloc **ret);
/* Removes all hooks that are left. NULL is fine, also for all below. */
void record_alloc_free(struct record_alloc *alloc);

/*
 * To be called before and after a program is let go: the first follows it, the second waits for its
 * entry point, hooks it and lets it run on. 0, or -errno, reported, if it will not run. *ret_ended:
 * it ended before its entry point, with *ret_status, as waitpid(2) returns it.
 */
int record_alloc_follow_program(struct record_alloc *alloc, pid_t pid);
int record_alloc_hook_program(struct record_alloc *alloc, bool *ret_ended, int *ret_status);

void record_alloc_start(struct record_alloc *alloc);
void record_alloc_drain(struct record_alloc *alloc, struct sink *sink);
void record_alloc_stop(struct record_alloc *alloc, struct sink *sink);
/* Says what was missed of the processes in the profile. */
void record_alloc_say_missed(const struct record_alloc *alloc, const struct profile *profile);

/* For names of frames; NULL where there are none. */
const struct allocations *record_alloc_allocations(const struct record_alloc *alloc);
/* The capabilities needed to hook children and to remove hooks, as a set of PRIVILEGE(). */
uint64_t record_alloc_privileges(const struct record_alloc *alloc);

#endif
