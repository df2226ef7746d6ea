/*
 * Finds the allocation functions of a process: in each file that it maps and that defines malloc,
 * by symbol.
 */
#ifndef SPROF_ALLOC_FUNCTIONS_H
#define SPROF_ALLOC_FUNCTIONS_H

#include <stddef.h>
#include <sys/types.h>

struct alloc_function;
struct sandbox;

/*
 * Files are read by children in the sandbox. `functions` are for alloc_functions_free(); none if
 * the process maps no file that defines malloc. *ret_note: what the functions do not cover, for the
 * user, or NULL; free().
 */
void alloc_functions_find(pid_t pid, const struct sandbox *sandbox,
			  struct alloc_function **ret_functions, size_t *ret_nr, char **ret_note);
void alloc_functions_free(struct alloc_function *functions, size_t nr);

#endif
