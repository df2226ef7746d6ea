/*
 * Files that a target writes for profilers, in directories where everyone may write. Only a regular
 * file that belongs to the user of the process, to us or to root is accepted.
 */
#ifndef SPROF_TARGET_FILE_H
#define SPROF_TARGET_FILE_H

#include <stdint.h>

/* Returns the id of the process in its own PID namespace; `pid` if it has ended. */
uint32_t target_file_pid_inside(uint32_t pid);

/*
 * Opens `path` inside the root directory of process pid, or else as we see it. Returns a
 * descriptor, or -errno; -EPERM, after a warning, if the file belongs to another user.
 */
int target_file_open(uint32_t pid, const char *path);
int target_file_open_in_our_root(uint32_t pid, const char *path);

#endif
