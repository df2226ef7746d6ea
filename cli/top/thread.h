/* Threads that take no signals, because the main thread handles those that end a recording. */
#ifndef SPROF_THREAD_H
#define SPROF_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* `resizes`: the thread takes SIGWINCH. Every thread takes signals of crashes. 0 or -errno. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *), void *context, bool resizes);

#endif
