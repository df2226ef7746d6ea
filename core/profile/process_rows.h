/*
 * Joins what several profiles know of their processes (FACT_PROCESS). Processes of different hosts
 * or times may have the same number; their samples are added up, so only what all agree on is kept.
 */
#ifndef SPROF_PROCESS_ROWS_H
#define SPROF_PROCESS_ROWS_H

#include <stddef.h>

struct number_map;
struct process_rows;
struct profile;
struct sink;

struct process_rows *process_rows_new(void);
void process_rows_free(struct process_rows *rows); /* NULL is fine */

/*
 * `pids` are the numbers that processes get (struct profile_copy_opts), or NULL.
 *
 * Adds the processes of a profile: those with a FACT_PROCESS, and those with samples only. Strings
 * go into `vocabulary`, which must be the same each time. Returns how many processes were known and
 * are not any more.
 */
size_t process_rows_add(struct process_rows *rows, const struct profile *from,
			struct profile *vocabulary, struct number_map *pids);
/* Writes the rows of all processes that are known; strings go to the sink. */
void process_rows_write(const struct process_rows *rows, const struct profile *vocabulary,
			struct sink *sink);

#endif
