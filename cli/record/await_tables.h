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
 * The tables kept on disk; NULL: none are to be used. With borrowed rights and other users'
 * processes there are none: whoever can write the cache would choose where in their memory a walk
 * reads.
 */
struct table_cache *record_open_table_cache(const struct record_opts *opts);

/* The source is open and not started. Waits a second at most; a stop signal ends the wait. */
void record_await_tables(const struct source_ops *ops, struct source *source);

#endif
