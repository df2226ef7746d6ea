/*
 * Finds functions by name in a child process without rights (core/sandbox), because the symbol
 * tables and the debug files of targets are untrusted.
 */
#ifndef SPROF_CONFINED_FUNCTIONS_H
#define SPROF_CONFINED_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/function_names.h"

struct sandbox;

struct functions_search;

/*
 * Starts a child that looks for functions in the ELF file `fd` as function_names_search() does, and
 * in its debug file, which lies beside `path` as process `pid` sees it (0: as this one does). The
 * recorder then calls functions_search_go_on() whenever functions_search_socket() can be read, and
 * once in a while. `fd` may be closed afterwards; `path` is copied. 0; -ECHILD: there is no child;
 * or -errno.
 */
int functions_search_start(const struct sandbox *sandbox, int fd, pid_t pid, const char *path,
			   const char *const *globs, size_t nr_globs,
			   struct functions_search **ret_search);
int functions_search_socket(const struct functions_search *search);
/*
 * Answers what the child asks for; never waits for it. -EAGAIN: it has not finished. 0: these are
 * the functions, for function_names_free(). -ECHILD: it died; -ETIMEDOUT: it took too long;
 * -EBADMSG: it answered nonsense.
 */
int functions_search_go_on(struct functions_search *search, struct named_function **ret_functions,
			   size_t *ret_nr);
/* Ends the child. NULL is fine. */
void functions_search_free(struct functions_search *search);

/*
 * Checks what a child wrote and takes it over: offsets that rise, names with an end, numbers of
 * globs that exist. 0 or -EBADMSG.
 */
int functions_answer_read(const void *bytes, uint64_t size, size_t nr_globs,
			  struct named_function **ret_functions, size_t *ret_nr);

#endif
