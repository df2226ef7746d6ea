/* What sprof record --alloc does: samples the memory that targets allocate, beside their time. */
#ifndef SPROF_RECORD_ALLOC_H
#define SPROF_RECORD_ALLOC_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct allocations;
struct sandbox;
struct table_cache;

struct record_alloc_opts {
	bool wanted;
	uint64_t interval; /* bytes between samples; 0: adapted to the rate of allocation */
};

/* A child of record's struct argp; its input is a struct record_alloc_opts. */
extern const struct argp record_alloc_argp;
/*
 * Refuses combinations that cannot work: nr_named processes are named with -p; `segments` is the
 * folder of a flight recorder, or NULL.
 */
void alloc_opts_check(const struct record_alloc_opts *opts, size_t nr_named, const char *segments,
		      const char *source, struct argp_state *state);

/*
 * Hooks the processes; `source` is the name of what samples them beside. *ret is NULL where nothing
 * is wanted. 0, or -errno, reported: one of them cannot be hooked.
 */
int record_alloc_open(const struct record_alloc_opts *opts, const char *source, const pid_t *pids,
		      size_t nr_pids, const struct sandbox *sandbox, struct table_cache *cache,
		      struct allocations **ret);

/* The capabilities that removing the hooks needs, as a set of PRIVILEGE(). NULL is fine. */
uint64_t record_alloc_privileges(const struct allocations *allocations);

#endif
