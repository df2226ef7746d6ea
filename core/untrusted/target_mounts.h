/*
 * Files of targets on file systems that a user serves (core/rights/own_mounts.h): a FUSE server
 * could hold up everyone else for ever. They are opened only for that user, as the kernel's own
 * rule for FUSE is. The same holds for an overlay that a user mounted in a user namespace, because
 * a FUSE file system may lie below it. Overlays of this mount namespace, and of namespaces that
 * root of our user namespace made (Docker, containerd, systemd), are opened like every file.
 */
#ifndef SPROF_TARGET_MOUNTS_H
#define SPROF_TARGET_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens for reading what an O_PATH descriptor from /proc/PID refers to, as safe_open_trusted()
 * does. A file on such a file system is counted and gives -EPERM.
 */
int target_mounts_open(pid_t pid, int path_fd, uint64_t size_max);

/* Opens the program of a process. A descriptor, or -errno as above. */
int target_mounts_open_exe(pid_t pid);

/*
 * Opens the root directory of a process with O_PATH, for safe_open_in_root(), and marks it
 * (safe_open_mark()) if no user can have mounted such a file system in it. A descriptor, or -errno
 * as remote_open_file(); -EPERM if the root itself lies on one.
 */
int target_mounts_open_root(pid_t pid);

/* Warns of how many files were not opened. */
void target_mounts_report(void);

#endif
