/*
 * Files of targets on overlay file systems. The rule is that of the kernel for FUSE: files of an
 * overlay that a user mounted in a user namespace are opened only for that user, because the
 * server of a FUSE file system below it could hold up everyone else for ever. Overlays of this
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
 * safe_open_again(); -EPERM for such an overlay, and then it is counted.
 */
int target_mounts_open(pid_t pid, int path_fd, uint64_t size_max);

/* Opens the program of a process. A descriptor, or -errno as above. */
int target_mounts_open_exe(pid_t pid);

/*
 * Opens the root directory of a process with O_PATH, for safe_open_in_root(): marked, see
 * safe_open_mark(), if no user can have mounted an overlay in it. A descriptor, or -errno as
 * remote_open_file(); -EPERM where the root lies on such an overlay.
 */
int target_mounts_open_root(pid_t pid);

/* Says how many files were not opened. */
void target_mounts_report(void);

#endif
