/*
 * Gives up what is not needed once the BPF program runs: files of the targets are then parsed with
 * as few rights as sampling allows.
 */
#ifndef SPROF_PRIVILEGES_H
#define SPROF_PRIVILEGES_H

#include <stdbool.h>

/* Has the calling thread this capability (CAP_...) now? */
bool privileges_have(int capability);

/*
 * Keeps, of the capabilities the calling thread has, those that sampling still uses: BPF and perf
 * events (more memory for unwind rows), and looking into other users' processes; and CAP_SYS_ADMIN
 * where that is needed later. Nothing happens where there are none. Programs started before keep theirs.
 */
void privileges_reduce(bool keep_admin);

/* Keeps none: for threads that only compute. */
void privileges_drop(void);

#endif
