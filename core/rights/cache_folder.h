/*
 * The folder in which sprof keeps results between runs that take time to compute. Each user has
 * one, which only that user's recorders read and write: a recorder with borrowed rights uses its
 * caller's.
 */
#ifndef SPROF_CACHE_FOLDER_H
#define SPROF_CACHE_FOLDER_H

#include <stddef.h>

/*
 * Opens $XDG_CACHE_HOME/sprof, or ~/.cache/sprof where the variable is not set, and makes it if it
 * is missing. Returns a descriptor of the directory, the caller's; or -errno, with why[] the reason
 * in words: the folder or the one above it belongs to another user, or others may write to it.
 */
int cache_folder_open(char *why, size_t why_size);

#endif
