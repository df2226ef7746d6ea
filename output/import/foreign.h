/*
 * Files that sprof does not read: what they are, so that a message can say it. Everything else that
 * no importer knows is tried as collapsed stacks.
 */
#ifndef SPROF_FOREIGN_H
#define SPROF_FOREIGN_H

#include <stddef.h>

struct foreign {
	const char *what; /* "a JFR file": after "it is" */
	const char *hint; /* how to make a file of it that can be read; NULL: no way is known */
};

/*
 * Returns what a file that begins with these bytes is, or NULL where it may be collapsed stacks.
 * Ask after every importer said no.
 */
const struct foreign *foreign_find(const char *data, size_t size);

#endif
