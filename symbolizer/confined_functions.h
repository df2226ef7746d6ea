/*
 * Finds functions by name in a child process without rights (core/sandbox), because the symbol
 * tables and the debug files of targets are untrusted.
 */
#ifndef SPROF_CONFINED_FUNCTIONS_H
#define SPROF_CONFINED_FUNCTIONS_H

#include "symbolizer/function_names.h"

struct sandbox;

/*
 * As function_names_find(), and besides: -ECHILD: the child died; -ETIMEDOUT: it took too long;
 * -EBADMSG: it answered nonsense. Without a sandbox (NULL) this process reads the file.
 */
int confined_functions_find(const struct sandbox *sandbox, int fd, pid_t pid, const char *path,
			    const char *const *globs, size_t nr_globs,
			    struct named_function **ret_functions, size_t *ret_nr);

/*
 * Checks what a child wrote and takes it over: offsets that rise, names with an end, numbers of
 * globs that exist. 0 or -EBADMSG.
 */
int functions_answer_read(const void *bytes, uint64_t size, size_t nr_globs,
			  struct named_function **ret_functions, size_t *ret_nr);

#endif
