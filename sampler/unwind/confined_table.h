/*
 * Builds an unwind table in a child process without rights (core/sandbox), because ELF files,
 * .eh_frame and machine code of targets are untrusted.
 */
#ifndef SPROF_CONFINED_TABLE_H
#define SPROF_CONFINED_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct debug_files;
struct rule_set;
struct sandbox;
struct unwind_table;

/* What the table is of: the file behind fd, or runtime code. */
struct table_order {
	int fd;
	const uint8_t *code; /* NULL: the file */
	size_t code_size;
	/* Opens the debug file that the child asks for (debug_frame.h); NULL: it is given none. */
	struct debug_files *files;
	int cancel_fd; /* when it becomes readable, the table is not wanted any more; -1: none */
};

/*
 * `ret_answer`: NULL, or where the file goes that the child has written, which is then the caller's
 * (table_file.h).
 * As unwind_table_build() and unwind_table_build_code(), and besides: -ECHILD: the child died;
 * -ETIMEDOUT: it took too long; -EBADMSG: what it gave is no sound table; -ECANCELED.
 */
int confined_table_build(const struct sandbox *sandbox, const struct table_order *order,
			 struct rule_set *rules, struct unwind_table **ret_table, int *ret_answer);

/* Says in words why a table could not be had; NULL for what unwind_table_build() returns. */
const char *confined_table_reason(int err);

#endif
