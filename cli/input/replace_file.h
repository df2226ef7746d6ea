/* Writes a file of the user's in one step: its old content stays until the new one is complete. */
#ifndef SPROF_REPLACE_FILE_H
#define SPROF_REPLACE_FILE_H

#include <stddef.h>

/*
 * Makes the content of the file at `path` these bytes. A symbolic link there is replaced, not
 * followed; a pipe or a device is written to. Returns 0 or -errno, and then a file that was there
 * is as it was.
 */
int replace_file(const char *path, const void *data, size_t size);

#endif
