/*
 * Names of addresses that were not asked for: a flight recorder meets new addresses of the same
 * functions in each segment, and opening a debug file for one takes as long as for a thousand.
 */
#ifndef SPROF_NAME_RUNS_H
#define SPROF_NAME_RUNS_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_frame;
struct symbol_module;
struct wanted_name;

#define NAME_RUNS_REACH 512 /* bytes before and behind an address that was asked for */

/*
 * Adds addresses around those of `*wants`, as far as their functions reach, as frames of the
 * profile. `*wants`, which is sorted and on the heap, is replaced. Returns the new number.
 */
size_t name_runs_widen(struct profile *p, const struct symbol_module *module,
		       struct wanted_name **wants, size_t nr);

/*
 * The runs of addresses with equal locations among all frames of `p`, which are of one module, in
 * order; to free(). One without locations ends the run before it.
 */
struct profile_frame *name_runs_of(const struct profile *p, size_t *ret_nr);

/* The module for the runs of a module. */
uint32_t name_runs_module(struct profile *p, uint32_t module);

#endif
