/*
 * Memory for the host program. Out of memory ends sprof with a message: a profiler that limps on
 * after a failed allocation reports wrong numbers. Nothing here is used inside a target.
 */
#ifndef SPROF_ALLOC_H
#define SPROF_ALLOC_H

#include <stddef.h>

/* When memory runs out, `fn` prints the last message; NULL: alloc.c does. */
void alloc_set_report(void (*fn)(void));

void *xmalloc(size_t size);
void *xcalloc(size_t nr, size_t size); /* zeroed */
void *xreallocarray(void *old, size_t nr, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Makes room for at least `need` elements of `size` bytes in an array that holds *capacity of
 * them; grows by doubling. Returns the (possibly moved) array and updates *capacity.
 */
void *xgrow(void *array, size_t *capacity, size_t need, size_t size);

/*
 * The same for an array of *nr elements that shall have element `index`. Elements that are added
 * are zero, and *nr counts them.
 */
void *xgrow_to(void *array, size_t *capacity, size_t *nr, size_t index, size_t size);

/*
 * From now on free memory goes back to the system, in all threads. Without this glibc keeps twice
 * the largest block that was ever freed, for each thread: what a program holds that runs for months
 * would follow the largest file that it ever read.
 */
void alloc_return_memory(void);

#endif
