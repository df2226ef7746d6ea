/*
 * Gives up what is not needed once the BPF program runs: files of the targets are then parsed with
 * as few rights as sampling allows.
 */
#ifndef SPROF_PRIVILEGES_H
#define SPROF_PRIVILEGES_H

/*
 * Keeps, of the capabilities the calling thread has, those that sampling still uses: BPF and perf
 * events (more memory for unwind rows), and looking into other users' processes. Nothing happens
 * where there are none. Programs started before keep theirs.
 */
void privileges_reduce(void);

/* Keeps none: for threads that only compute. */
void privileges_drop(void);

#endif
