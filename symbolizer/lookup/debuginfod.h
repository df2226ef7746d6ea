/*
 * Debug files from servers, by build-id (https://sourceware.org/elfutils/Debuginfod.html), through
 * elfutils' client library. It is loaded when it is asked for, so sprof runs without it; it keeps what
 * it has fetched, in $DEBUGINFOD_CACHE_PATH or ~/.cache/debuginfod_client.
 */
#ifndef SPROF_DEBUGINFOD_H
#define SPROF_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/*
 * Called while a file is fetched: `name` of what it is for, bytes so far and in all (0 = unknown).
 * name NULL: that is over.
 */
typedef void debuginfod_progress(void *context, const char *name, uint64_t done, uint64_t total);

/*
 * Loads the library and looks for servers in the environment. 0, or -errno, reported with its remedy.
 * `progress` may be NULL.
 */
int debuginfod_open(debuginfod_progress *progress, void *context, struct debuginfod **ret);
void debuginfod_close(struct debuginfod *d);

/*
 * Fetches the debug file of a build-id, for the file called `name`. A descriptor, or -errno: -ENOENT
 * where no server has it. Where none can be reached that is reported, and no further one is asked.
 */
int debuginfod_fetch(struct debuginfod *d, const char *name, const uint8_t *build_id, size_t size);

#endif
