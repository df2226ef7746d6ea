/*
 * Fetches debug files from servers by build-id (https://sourceware.org/elfutils/Debuginfod.html),
 * through the client library of elfutils. The library is loaded on demand, so sprof runs without
 * it; it caches files in $DEBUGINFOD_CACHE_PATH or ~/.cache/debuginfod_client.
 */
#ifndef SPROF_DEBUGINFOD_H
#define SPROF_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/*
 * Called while a file is fetched: `name` of the binary it is for, bytes so far, and bytes in all (0
 * = unknown). name NULL: the fetch is over.
 */
typedef void debuginfod_progress(void *context, const char *name, uint64_t done, uint64_t total);

/*
 * Loads the library and looks for servers in the environment. 0, or -errno, reported with a hint.
 * `progress` may be NULL.
 */
int debuginfod_open(debuginfod_progress *progress, void *context, struct debuginfod **ret);
void debuginfod_close(struct debuginfod *d);

/*
 * From now on all fetches together may take `max_ns`, a second more or less. There is no limit
 * unless this is called.
 */
void debuginfod_limit(struct debuginfod *d, uint64_t max_ns);

/*
 * Fetches the debug file of a build-id, for the binary called `name`. A descriptor or -errno;
 * -ENOENT where no server has it, or no time is left. Where no server can be reached, that is
 * reported once and none is asked again. -EFBIG: the file is too large; -ETIME: the time is over. A
 * file that was too large, or took half of the time or more, is not asked for again for an hour, by
 * this process and by children that it forked after debuginfod_open().
 */
int debuginfod_fetch(struct debuginfod *d, const char *name, const uint8_t *build_id, size_t size);

#endif
