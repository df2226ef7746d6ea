/* The triggers of a flight recorder. A trigger that cannot work here is reported and left out. */
#ifndef SPROF_TRIGGERS_H
#define SPROF_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/triggers/trigger_spec.h"

struct triggers;

/* What is recorded: a trigger without an @ watches that. */
struct triggers_config {
	const struct trigger_specs *specs; /* outlives the triggers */
	const pid_t *pids;		   /* each is watched alone, without its children */
	size_t nr_pids;
	const char *const *cgroups; /* folders */
	size_t nr_cgroups;
	bool system_wide; /* the machine is watched */
};

/* NULL: there is no trigger that works. */
struct triggers *triggers_new(const struct triggers_config *config);
void triggers_free(struct triggers *t); /* NULL is fine */

/*
 * To be called in every round; looks once a second. Returns what has fired, in words, until the
 * next call; or NULL.
 */
const char *triggers_poll(struct triggers *t, uint64_t now_ns);

/* How often triggers have fired. */
uint64_t triggers_nr_fired(const struct triggers *t);

#endif
