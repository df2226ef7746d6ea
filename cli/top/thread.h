/* Threads that take no signals: those that end a recording are for the main thread. */
#ifndef SPROF_THREAD_H
#define SPROF_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* `resizes`: it takes SIGWINCH, and those of crashes always. 0 or -errno. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *), void *context, bool resizes);

#endif
