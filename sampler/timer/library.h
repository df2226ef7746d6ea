/* libsprof.so: what programs can load it. */
#ifndef SPROF_LIBRARY_H
#define SPROF_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define TIMER_LIBRARY "libsprof.so"

/*
 * Will the loader of a program, found as execvp(3) does, load what LD_PRELOAD names? false: it will
 * not, and why[] says so. What is no ELF file (a script) is believed to.
 */
bool timer_library_is_loaded_by(const char *program, char *why, size_t why_size);

/* Is that file a program without a loader of its own, which loads no library? */
bool timer_library_is_static(const char *path);

#endif
