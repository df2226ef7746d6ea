/*
 * Searches of mapped files for functions to count, by child processes. A hostile file can keep its
 * child busy until the child's time is up, so nothing here waits for a child; a few children work
 * at a time, one for each user, and no user fills the queue.
 */
#ifndef SPROF_FUNCTION_SEARCHES_H
#define SPROF_FUNCTION_SEARCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct function_searches;
struct named_function;
struct sandbox;

/* The user of files that the caller named. */
#define SEARCH_FOR_CALLER UINT32_MAX

/* A file and what is looked for in it. */
struct searched_file {
	int fd;
	pid_t pid;     /* `path` is as this process sees it; 0: as we do */
	uint32_t user; /* whose share it takes; or SEARCH_FOR_CALLER */
	char *path;
	const char **globs;
	size_t nr_globs;
	void *of; /* what the globs mean to the caller; freed with the file */
};

/* Takes what a search found; err is that of functions_search_go_on(). The file stays ours. */
typedef void function_searches_fn(void *context, const struct searched_file *file, int err,
				  struct named_function *functions, size_t nr);

/* The sandbox must outlive the result. */
struct function_searches *function_searches_new(const struct sandbox *sandbox);
void function_searches_free(struct function_searches *searches); /* NULL is fine */

/* May a file of this user be added? The caller's own always may. */
bool function_searches_have_room(struct function_searches *searches, uint32_t user);
/* Owns what `file` points to afterwards. */
void function_searches_add(struct function_searches *searches, const struct searched_file *file);

/* How many files are still to be searched; are any of them the caller's? */
size_t function_searches_left(const struct function_searches *searches);
bool function_searches_left_for_caller(const struct function_searches *searches);

/*
 * Starts searches and hands over what they found. Waits at most timeout_ms, and only for searches
 * that have just begun: most take some milliseconds.
 */
void function_searches_go_on(struct function_searches *searches, int timeout_ms,
			     function_searches_fn *fn, void *context);

#endif
