/*
 * What the files of libsprof.so share, what the library asks of libc, and which functions of libc
 * it stands before. What not every libc has is declared weak.
 */
#ifndef SPROF_AGENT_PRELOAD_H
#define SPROF_AGENT_PRELOAD_H

#include <linux/types.h>

#include "sampler/agent/preload_home.h"

char *secure_getenv(const char *name);

/* What pthread_atfork(3) and thread_local destructors of glibc are made of. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		      void *dso_handle) __attribute__((weak));
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *dso_handle)
	__attribute__((weak));

/* Functions of libc that programs reach through this library. */
#pragma GCC visibility push(default)
int pthread_create(void *thread, const void *attributes, void *(*start)(void *), void *argument);
int dlclose(void *handle);
int sigaction(int signal, const void *action, void *old);
void (*signal(int number, void (*handler)(int)))(int);
int sigprocmask(int how, const void *set, void *old);
int pthread_sigmask(int how, const void *set, void *old);
#pragma GCC visibility pop

#pragma GCC visibility push(hidden)

/* A function of the libraries after this one, in its default version; NULL if there is none. */
void *agent_next_function(const char *name);

/* Room for the start of a thread; NULL if the program is not sampled or there is no room. */
struct agent_start *agent_take_start(void);
void *agent_thread_entry(void *start);
struct agent_thread agent_begin_thread(struct agent_start *start);
/* An address in this library; with it libc knows not to unload it. */
void *agent_own_handle(void);

/* Finds libc's functions for signals. Not to be called in a handler. */
void agent_find_signal_functions(void);
/* Hands a signal of our number that is not ours to the handler that the program set for it. */
struct agent_siginfo;
struct agent_ucontext;
void agent_pass_on(int signal, struct agent_siginfo *info, struct agent_ucontext *uc);
/*
 * Unblocks the signal in the calling thread, which may have been started where every signal is
 * blocked.
 */
void agent_unblock(int signal);

/*
 * From now on a recorder can wake this process: `wake` is called, in a signal handler, with the
 * value that the signal carried.
 */
void agent_listen(void (*wake)(__u64 value));

/* Has the recorder read all samples so far, and waits for that, 0.2 s at most. */
void agent_settle(void);

#pragma GCC visibility pop

#endif
