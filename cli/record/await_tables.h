/*
 * Waits, before a running process is sampled, for the unwind tables of the files that it maps.
 * Stacks through a file without a table may be incomplete, and a short recording of a large program
 * would have many of them.
 */
#ifndef SPROF_AWAIT_TABLES_H
#define SPROF_AWAIT_TABLES_H

struct source;
struct source_ops;

/* The source is open and not started. Waits a second at most; a stop signal ends the wait. */
void record_await_tables(const struct source_ops *ops, struct source *source);

#endif
