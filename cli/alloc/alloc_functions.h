/*
 * Finds the allocation functions of a process: those that the symbols of its mapped files name, and
 * the tables through which Python calls its own.
 */
#ifndef SPROF_ALLOC_FUNCTIONS_H
#define SPROF_ALLOC_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct alloc_finder;
struct alloc_function;
struct sandbox;

/* What is looked for. */
enum alloc_wanted {
	ALLOC_WANT_MALLOC = 1,	/* malloc(3) and its kin, operator new, Python's tables */
	ALLOC_WANT_TENSORS = 2, /* c10's function that PyTorch's allocators report to */
};

/*
 * `wanted`: bits of enum alloc_wanted. Files are read by children in the sandbox, which must
 * outlive the result.
 */
struct alloc_finder *alloc_finder_new(pid_t pid, unsigned int wanted,
				      const struct sandbox *sandbox);
void alloc_finder_free(struct alloc_finder *finder); /* NULL is fine */

/*
 * Searches the files that were mapped since the last look. Returns the number of functions found, 0
 * also if the process has ended; the list belongs to the finder and holds until the next look.
 */
size_t alloc_finder_look(struct alloc_finder *finder, const struct alloc_function **ret_functions);
/* Was any file of the process unreadable? */
bool alloc_finder_has_unread(const struct alloc_finder *finder);

#endif
