/* Which programs can load libsprof.so: those with a loader that obeys LD_PRELOAD. */
#ifndef SPROF_LIBRARY_H
#define SPROF_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define TIMER_LIBRARY "libsprof.so"

/*
 * Will the loader of a program, found as execvp(3) finds it, load what LD_PRELOAD names? false: it
 * will not, and why[] says why. A file that is not ELF (a script) is assumed to.
 */
bool timer_library_is_loaded_by(const char *program, char *why, size_t why_size);

/* Is the file a program without a loader, which loads no library? */
bool timer_library_is_static(const char *path);

#endif
