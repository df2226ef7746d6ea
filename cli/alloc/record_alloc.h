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
	bool tensors;	   /* what PyTorch's allocators report */
	bool python;	   /* only what Python, or code that it called, has asked for */
	uint64_t interval; /* bytes between samples; 0: adapted to the rate of allocation */
	/* growth of resident memory is sampled by the source; what cannot be hooked is no error */
	bool growth;
};

/* A child of record's struct argp; its input is a struct record_alloc_opts. */
extern const struct argp record_alloc_argp;
/*
 * Refuses combinations that cannot work: nr_named processes are named with -p, or a program is
 * started; `segments` is the folder of a flight recorder, or NULL.
 */
void alloc_opts_check(const struct record_alloc_opts *opts, size_t nr_named, bool program,
		      bool no_python, const char *segments, const char *source,
		      struct argp_state *state);

/* What of a recording matters here; what it points to must outlive the result. */
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
 * Hooks the processes. *ret is NULL where nothing is wanted. 0, or -errno, reported: one of them
 * cannot be hooked.
 */
int record_alloc_open(const struct record_alloc_config *config, struct record_alloc **ret);
/* Removes all hooks that are left. NULL is fine, also for all below. */
void record_alloc_free(struct record_alloc *alloc);

/*
 * Follows the program that waits to be started, hooks it once it has reached its entry point, and
 * lets it go on. 0, or -errno, reported: it has not begun and will not. *ret_status: of waitpid(2),
 * where *ret_ended says that it ended before.
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
/* The capabilities that hooking children and removing hooks need, as a set of PRIVILEGE(). */
uint64_t record_alloc_privileges(const struct record_alloc *alloc);

#endif
