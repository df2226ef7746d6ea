/*
 * System calls in which threads wait: what for, as the call and its arguments tell where the
 * kernel's stack is not known.
 */
#ifndef SPROF_BLOCKING_CALLS_H
#define SPROF_BLOCKING_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/waiting/wait_reason.h"

/* What one of the arguments is. */
enum blocking_argument {
	ARGUMENT_NONE,
	ARGUMENT_FD,
	ARGUMENT_EPOLL, /* a descriptor, too */
	ARGUMENT_FUTEX, /* the address of a lock */
	ARGUMENT_NR,	/* how many descriptors are waited for */
};

struct blocking_call {
	long number;
	const char *name;
	uint8_t reason;	  /* enum wait_reason; REASON_NONE: by the descriptor */
	uint8_t argument; /* enum blocking_argument, */
	uint8_t at;	  /* and which one it is */
};

/* NULL: a call of another kind. */
const struct blocking_call *blocking_call_find(long number);
/* Writes "pipe:[123]", "/var/log/x", or "" if it is not known. */
void blocking_call_descriptor(pid_t pid, int fd, char *text, size_t size);
/* The reason of a wait for a descriptor of that text. */
enum wait_reason blocking_call_reason(const char *text);

#endif
