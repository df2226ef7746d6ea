/*
 * Holds a program that is being started at its entry point: behind the dynamic linker, which has
 * mapped its libraries by then and run their constructors, and before its own first instruction.
 *
 *	entry_stop_follow	the process waits before its exec
 *	entry_stop_arrive	after the exec: it is at its entry point, and goes round there
 *	...			it can be attached to like any other
 *	entry_stop_release
 *
 * All from one thread, the one that has forked the process: if that dies, the program dies too.
 */
#ifndef SPROF_ENTRY_STOP_H
#define SPROF_ENTRY_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ENTRY_STOP_BYTES 2u

struct entry_stop {
	pid_t pid;
	/*
	 * Called all the time while it is waited for: constructors may talk to us, and must get an
	 * answer. May be NULL.
	 */
	void (*serve)(void *context);
	void *context;
	uint64_t entry;
	uint8_t was[ENTRY_STOP_BYTES]; /* of the program, where it goes round */
	bool has_ended;
	int status; /* of waitpid(2), if it has ended */
};

/* Keeps serve and context. 0 or -errno. */
int entry_stop_follow(struct entry_stop *stop, pid_t pid);
/*
 * 0; -ESRCH: it has ended before; -ENOTSUP: it runs 32-bit code; or -errno. After an error it runs
 * on.
 */
int entry_stop_arrive(struct entry_stop *stop);
/* 0, or -errno: it has ended. */
int entry_stop_release(struct entry_stop *stop);

#endif
