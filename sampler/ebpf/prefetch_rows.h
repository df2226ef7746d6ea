/*
 * Guesses which files a program that is about to start will map, so that their unwind rows are
 * ready before its first sample.
 */
#ifndef SPROF_PREFETCH_ROWS_H
#define SPROF_PREFETCH_ROWS_H

/*
 * Calls fn with the paths of the program (`name` is looked up in PATH as exec does), of the dynamic
 * linker and of libc. A wrong guess costs some milliseconds of the thread that builds tables.
 */
void prefetch_files(const char *name, void (*fn)(void *context, const char *path), void *context);

#endif
