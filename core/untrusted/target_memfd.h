/*
 * Shared memory that a process of another user has made. Receiving a descriptor from it is not
 * safe: closing the descriptor asks the file system, which may be a FUSE server that never answers,
 * and no signal ends that wait. So the process names one of its descriptors, and only a memfd is
 * opened.
 */
#ifndef SPROF_TARGET_MEMFD_H
#define SPROF_TARGET_MEMFD_H

#include <sys/types.h>

/*
 * Opens the memfd that process `pid` has as descriptor `number`, for reading and writing. The
 * caller closes what is returned. -EPERM: it is another kind of file; or the kernel's -errno.
 */
int target_memfd_open(pid_t pid, int number);

#endif
