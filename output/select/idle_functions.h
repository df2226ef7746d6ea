/*
 * What functions tell about idle waits: which of them wait, which only stand between a loop and its
 * wait, and which are loops that take the next piece of work.
 */
#ifndef SPROF_IDLE_FUNCTIONS_H
#define SPROF_IDLE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct tree_function;

/* What a thread waits for, as the functions between the loop and the kernel say. */
enum idle_wait {
	IDLE_ACCEPT = 1 << 0, /* a new connection */
	IDLE_EPOLL = 1 << 1,
	IDLE_POLL = 1 << 2, /* poll, select, io_uring */
	IDLE_READ = 1 << 3, /* a pipe or a socket */
	IDLE_COND = 1 << 4, /* a condition variable */
	IDLE_SEM = 1 << 5,  /* a semaphore */
	IDLE_TAKE = 1 << 6, /* a queue's next element */
	IDLE_PARK = 1 << 7, /* a scheduler's thread without work */
	IDLE_UV = 1 << 8,   /* a condition variable of libuv, instead of IDLE_COND */
	IDLE_LOCK = 1 << 9, /* a mutex, the GIL, a thread's end: another thread's doing */
};

struct idle_hint {
	uint16_t waits; /* this function waits for that */
	uint16_t loops; /* it is a loop in which waits of these kinds are idle */
	bool through;	/* it may stand between a loop and its wait */
	bool starts;	/* it may stand between the root of a stack and its first own function */
	bool threads;	/* the same, and only where a thread was started */
};

struct idle_hint idle_hint_of(const struct tree_function *f);

#endif
