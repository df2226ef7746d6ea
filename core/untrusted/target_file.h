/*
 * Files that a target writes for profilers to read, in directories that everyone may write to. Only
 * a regular file that belongs to the user of the process, to us or to root is accepted.
 */
#ifndef SPROF_TARGET_FILE_H
#define SPROF_TARGET_FILE_H

#include <stdint.h>

/* Returns the id that the process has in its own PID namespace; `pid` where it has ended. */
uint32_t target_file_pid_inside(uint32_t pid);

/*
 * Opens `path` inside the root directory of process pid, or else as we see it. Returns a
 * descriptor, or -errno; -EPERM, after a warning, where the file belongs to another user.
 */
int target_file_open(uint32_t pid, const char *path);
int target_file_open_in_our_root(uint32_t pid, const char *path);

#endif
