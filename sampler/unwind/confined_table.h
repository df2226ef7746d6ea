/*
 * Builds an unwind table in a child process without rights (core/sandbox), because ELF files,
 * .eh_frame and machine code of targets are untrusted.
 */
#ifndef SPROF_CONFINED_TABLE_H
#define SPROF_CONFINED_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/unwind/debug_frame.h"

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
 * -ETIMEDOUT: it took too long; -EBADMSG: what it gave is no sound table; -ECANCELED. -ENOMEM and
 * -EFBIG: it, or its table, needs more memory than the sandbox allows (sandbox_set_memory()).
 */
int confined_table_build(const struct sandbox *sandbox, const struct table_order *order,
			 struct rule_set *rules, struct unwind_table **ret_table, int *ret_answer);

/* What the child says: the table is finished, or not to be had; or it wants a debug file. */
struct table_word {
	int32_t answer;	    /* 0 or -errno; TABLE_WANTS_FILE */
	uint32_t candidate; /* TABLE_WANTS_FILE: which, and by which names */
	struct debug_names names;
};
_Static_assert(sizeof(struct table_word) == 12 + BUILD_ID_MAX + DEBUG_NAME_MAX, "no padding");

enum { TABLE_WANTS_FILE = 1 };

/*
 * The recorder's side of the socket once the child has its order: hands over the files that it
 * wants until it says how it ended. 0: it has written a table; otherwise as confined_table_build().
 */
int confined_table_answer(int socket, const struct table_order *order);

#endif
