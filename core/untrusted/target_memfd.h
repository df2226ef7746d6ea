/*
 * Shared memory that a process of another user has made. To receive a descriptor that such a
 * process sends is not safe: closing it asks its file system, which may be a FUSE server that never
 * answers, and no signal ends that wait. So the process says which of its descriptors it is, and a
 * file that is no memfd is neither opened nor closed here.
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
