/* Opens the file behind a mapping of a process, and the root in which its path has a meaning. */
#ifndef SPROF_OPEN_MAPPED_H
#define SPROF_OPEN_MAPPED_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/target/mapped_file.h"

/*
 * Opens the mapped file, even if its path leads to another one by now. Of a process that has ended
 * only the path is left, which must lead to the same inode. Returns a descriptor, or -errno as
 * safe_open() gives it; -ESTALE where another file is there.
 */
int open_mapped(const struct file_mapping *mapping);

/* Returns whether paths of the process mean here what they mean to it. */
bool open_mapped_in_our_root(const struct file_mapping *mapping);

/*
 * Opens the root directory for paths of a mapped file: ours, or that of process `pid`, which must
 * be alive. Returns an O_PATH descriptor, or -errno.
 */
int open_mapped_root(bool in_our_root, pid_t pid);

#endif
