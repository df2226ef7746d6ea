/*
 * What several profiles know of their processes (FACT_PROCESS), made one. Processes of different
 * hosts, or of different times, may have the same number; their samples are added up, so only what
 * is true of both is kept.
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
 * Takes the processes of a profile: those that it knows something of, and those that have samples
 * only. Strings go into `vocabulary`, the same profile each time. Returns how many processes of
 * which an earlier profile knew something are not known any more.
 */
size_t process_rows_add(struct process_rows *rows, const struct profile *from,
			struct profile *vocabulary, struct number_map *pids);
/* Writes the rows of all processes that are known; strings go to the sink. */
void process_rows_write(const struct process_rows *rows, const struct profile *vocabulary,
			struct sink *sink);

#endif
