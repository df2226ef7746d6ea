/*
 * Finds mappings that a process has unmapped. The kernel does not report that, so now and then its
 * mappings are compared with /proc/PID/maps: without this, what a process unmaps would keep its
 * file in use for as long as the process lives.
 */
#ifndef SPROF_PROCESS_PRUNE_H
#define SPROF_PROCESS_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

struct process;

/* Has the process mapped enough, or long enough ago, for another look? */
bool process_prune_is_due(const struct process *process, uint64_t now_ns);
/*
 * Removes what two looks, more than 2 s apart, did not find: samples of what was mapped then have
 * been handled. If it removes any, the process has a new epoch and is dirty.
 */
void process_prune(struct process *process, uint64_t now_ns);

#endif
