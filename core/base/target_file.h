/*
 * Files that a target writes for profilers to read, in places that are open to everyone. Only a
 * regular file that belongs to the process's user, to us, or to root is taken.
 */
#ifndef SPROF_TARGET_FILE_H
#define SPROF_TARGET_FILE_H

#include <stdint.h>

/* What the process calls itself, in its own pid namespace; pid where it has ended. */
uint32_t target_file_pid_inside(uint32_t pid);

/*
 * Opens `path` in the root directory of process pid, and no symbolic link on the way leads out of
 * it; or where we see it. A descriptor, or -errno: -EPERM, and a warning, where
 * the file is somebody else's.
 */
int target_file_open(uint32_t pid, const char *path);
int target_file_open_in_our_root(uint32_t pid, const char *path);

#endif
