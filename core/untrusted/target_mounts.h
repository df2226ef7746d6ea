/*
 * Files of targets on file systems for which a user answers (core/rights/own_mounts.h): the servers
 * of FUSE file systems could hold up everyone else for ever. The rule is that of the kernel for
 * FUSE: they are opened only for that user. The same holds for an overlay that a user mounted in a
 * user namespace, because a FUSE file system may lie below it. Overlays of this
 * mount namespace, and of namespaces that the superuser of our user namespace made (Docker,
 * containerd, systemd), are opened as every file is.
 */
#ifndef SPROF_TARGET_MOUNTS_H
#define SPROF_TARGET_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens for reading what an O_PATH descriptor refers to, which was found in /proc/PID. As
 * safe_open_trusted(); -EPERM for such a file system, and then it is counted.
 */
int target_mounts_open(pid_t pid, int path_fd, uint64_t size_max);

/* Opens the program of a process. A descriptor, or -errno as above. */
int target_mounts_open_exe(pid_t pid);

/*
 * Opens the root directory of a process with O_PATH, for safe_open_in_root(): marked, see
 * safe_open_mark(), if no user can have mounted such a file system in it. A descriptor, or -errno
 * as remote_open_file(); -EPERM where the root lies on one.
 */
int target_mounts_open_root(pid_t pid);

/* Says how many files were not opened. */
void target_mounts_report(void);

#endif
