/* Opens the file behind a mapping of a process, and the root in which its path has a meaning. */
#ifndef SPROF_OPEN_MAPPED_H
#define SPROF_OPEN_MAPPED_H

#include <stdbool.h>

#include "sampler/target/mapped_file.h"

/*
 * Opens the mapped file, even if its path leads to another one by now. Of a process that has ended
 * only the path is left, which must lead to the same file. Returns a descriptor, or -errno as
 * safe_open() gives it; -ESTALE where another file is there.
 */
int open_mapped(const struct file_mapping *mapping);

/* Opens the file of a new entry and fills what that tells of it; all but its headers. */
void mapped_file_open(struct mapped_file *file, const struct file_mapping *mapping);
/*
 * The file of an entry could not be opened, and here is one more mapping with its device and inode.
 * Does it need a new entry, as the mapping of another file or of one that opens now? However often
 * this is called, whether the file opens is tried ever more rarely, at last once in 16 s.
 */
bool mapped_file_needs_retry(struct mapped_file *file, const struct file_mapping *mapping);

/*
 * Finds out in which root directory the path of the mapping, and paths in the file, have a meaning.
 */
struct mapped_root mapped_root_of(const struct file_mapping *mapping);

/*
 * Opens that directory, of the process that had it while that lives. `path` is the mapping's.
 * Returns an O_PATH descriptor, or -errno.
 */
int mapped_root_open(const struct mapped_root *root, const char *path);

#endif
