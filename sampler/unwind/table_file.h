/*
 * An unwind table in a file in memory (memfd): how a child process without rights, which has built
 * the table of an untrusted file, hands it to the recorder. The recorder seals the file, checks all
 * of it, and then reads the pages and rows where they lie.
 */
#ifndef SPROF_TABLE_FILE_H
#define SPROF_TABLE_FILE_H

#include <stdint.h>

struct rule_set;
struct unwind_table;

#define TABLE_FILE_MAX (512ull << 20) /* bytes */

/* Writes a table whose rules are numbered in `rules`. 0 or -errno. */
int table_file_write(int fd, const struct unwind_table *table, const struct rule_set *rules);

/*
 * Reads what an untrusted writer left in a memfd that can be sealed. Its rules are interned in
 * `rules`, and the rows get their numbers there. `code_size`: the size of the runtime code that the
 * table is for, within which its functions lie; 0 where it is for a file, which has no functions.
 * -EBADMSG: it is no sound table; or -errno. The descriptor stays the caller's.
 */
int table_file_read(int fd, uint64_t code_size, struct rule_set *rules,
		    struct unwind_table **ret_table);
/*
 * The same of bytes that have been mapped already, privately. The mapping is the table's from now
 * on, and is gone if there is none.
 */
int table_file_take(void *mapping, uint64_t size, uint64_t code_size, struct rule_set *rules,
		    struct unwind_table **ret_table);

#endif
