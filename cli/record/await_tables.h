/*
 * The unwind tables that sprof record has before its first sample: those kept from earlier
 * recordings, and those of the files that a running process maps. Stacks through a file without a
 * table may be incomplete, and a short recording of a large program would have many of them.
 */
#ifndef SPROF_AWAIT_TABLES_H
#define SPROF_AWAIT_TABLES_H

struct source;
struct source_ops;
struct record_opts;
struct table_cache;

/*
 * Opens the tables kept on disk. NULL: none are used, as with borrowed rights and --all-users: who
 * can write the cache could choose where in other users' memory a walk reads.
 */
struct table_cache *record_open_table_cache(const struct record_opts *opts);

/* The source must be open and not started. Waits at most a second; a stop signal ends the wait. */
void record_await_tables(const struct source_ops *ops, struct source *source);

#endif
