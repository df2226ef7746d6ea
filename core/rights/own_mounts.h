/*
 * Which mounts are answered for by whoever set up this process: those of its own mount namespace.
 * It matters for overlay file systems. Their kernel code works with the rights of the user who
 * mounted them, so a user can put one over a FUSE server, and then even fstat(2) of root waits for
 * that server. None of these functions makes a request to the file system that it is asked about.
 */
#ifndef SPROF_OWN_MOUNTS_H
#define SPROF_OWN_MOUNTS_H

#include <stdbool.h>
#include <stdio.h>

/* Does the descriptor, of O_PATH too, refer to a file of an overlay, or is that unknown? */
bool mount_is_overlay(int fd);

/* The number of its mount, as in mountinfo; or -errno. Numbers are reused after an unmount. */
int mount_number(int fd);

/* Has this text of /proc/PID/mountinfo a mount with that number? */
bool mount_is_listed(FILE *mountinfo, int number);

/* Is it in the mount namespace of this process, and below its root? */
bool mount_is_own(int fd);

#endif
