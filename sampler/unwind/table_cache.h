/*
 * Finished unwind tables of ELF files, kept on disk between two runs (core/rights/cache_folder.h).
 * An entry is good for one file only: the same build-id, and the same inode, unchanged since. A
 * build-id alone would not do: a hostile file can claim that of libc, and its table would be used
 * for libc from then on. So the inode counts, with the time of its last change, which the kernel
 * sets; a FUSE server can forge that, so files of one are not kept, and neither are files without a
 * build-id or such that the caller could not read without sprof's rights. The debug file that has
 * the build-id counts in the same way, because the table may have rules of it. A table that was
 * built without one counts only while no file has the name in .gnu_debuglink.
 *
 * An entry is untrusted: its table passes the same checks as one that a child without rights built
 * (table_file.h). Several threads and several recorders may use one cache at a time.
 */
#ifndef SPROF_TABLE_CACHE_H
#define SPROF_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/build_id.h"
#include "sampler/unwind/debug_frame.h"

struct rule_set;
struct table_cache;
struct unwind_table;

#define TABLE_CACHE_MAX                                                                            \
	(256ull << 20) /* bytes; about: beyond that the entries used longest ago go */

/* Opens the caller's cache. NULL, with a reason at -v: there is none that can be used. */
struct table_cache *table_cache_open(void);
/* The same in a folder, whose descriptor is the cache's from now on, with another limit. */
struct table_cache *table_cache_new(int folder, uint64_t bytes_max);
void table_cache_close(struct table_cache *cache); /* NULL is fine */
/* Larger tables are not read from now on. A NULL cache is fine. */
void table_cache_set_table_max(struct table_cache *cache, uint64_t bytes);

/* What an entry is good for. */
struct table_key {
	uint64_t dev, ino, size_bytes;
	int64_t modified_ns, changed_ns;
	/* of the debug file by build-id; 0: there is none */
	uint64_t debug_dev, debug_ino, debug_size_bytes;
	int64_t debug_changed_ns;
	uint32_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
};

/*
 * The key of the file behind fd, as it is now; `files` as of unwind_table_build(). false: tables of
 * such files are not kept.
 */
bool table_cache_key(int fd, struct debug_files *files, struct table_key *ret_key);

/*
 * As table_file_read(). `files` as of table_cache_key(). -ENOENT: there is no entry; -E2BIG: the
 * table is larger than those that are read; -ESTALE: a debug file that it lacks can be opened now;
 * -EBADMSG: it was damaged, which is said at -v, and is gone now. Rules may have been added to
 * `rules` even so.
 */
int table_cache_load(struct table_cache *cache, const struct table_key *key,
		     struct debug_files *files, struct rule_set *rules,
		     struct unwind_table **ret_table);
/*
 * Keeps the table in an answer file that table_file_read() has accepted. `fd` is the file that the
 * table is of; if it has changed since its key was taken, nothing is kept. `link`: the name of a
 * debug file that was looked for and not found; "": none was.
 */
void table_cache_store(struct table_cache *cache, const struct table_key *key, int fd, int answer,
		       const char link[DEBUG_NAME_MAX]);

#endif
