/*
 * Drops the rights that are not needed once the BPF program runs: files of targets are then parsed
 * with as few rights as sampling allows.
 */
#ifndef SPROF_PRIVILEGES_H
#define SPROF_PRIVILEGES_H

#include <stdbool.h>

/* Returns whether the calling thread has this capability (CAP_...) now. */
bool privileges_have(int capability);

/*
 * Reduces the capabilities of the calling thread to those that sampling still uses: BPF and perf
 * events (more memory for unwind rows), reading other users' processes, and with keep_admin
 * CAP_SYS_ADMIN. Programs that were started before keep theirs.
 */
void privileges_reduce(bool keep_admin);

/* Drops all of them: for threads that only compute. */
void privileges_drop(void);

#endif
