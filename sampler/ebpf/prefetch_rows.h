/*
 * Guesses what a program that is about to start will map, so that the unwind rows are ready before
 * its first sample.
 */
#ifndef SPROF_PREFETCH_ROWS_H
#define SPROF_PREFETCH_ROWS_H

/*
 * Calls fn with the path of the program (`name` is looked up in PATH as exec does), of the dynamic
 * linker and of libc: those this process runs on. A wrong guess costs some milliseconds of another
 * thread.
 */
void prefetch_files(const char *name, void (*fn)(void *context, const char *path), void *context);

#endif
