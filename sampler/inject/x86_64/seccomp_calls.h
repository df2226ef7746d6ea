/*
 * Every system call that attaching, sampling and detaching make in a target, with the arguments
 * that are known beforehand: what a seccomp filter is asked about (seccomp_check.h), or what a
 * child of sprof makes to see what a filter does (seccomp_trial.h).
 */
#ifndef SPROF_SECCOMP_CALLS_H
#define SPROF_SECCOMP_CALLS_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INJECT_AUDIT_ARCH AUDIT_ARCH_X86_64 /* struct seccomp_data.arch */

struct seccomp_call {
	uint32_t number;
	uint8_t known; /* a bit for each argument that is known; the others may be anything */
	uint64_t args[6];
};

/* What a trial gives for an argument that is not known beforehand. */
enum inject_trial_value {
	TRIAL_ZERO,
	TRIAL_SIZE,	 /* of a page */
	TRIAL_PAGE,	 /* the address of a page; free until it is mapped */
	TRIAL_FILE_PAGE, /* another one */
	TRIAL_FILE,	 /* the descriptor of a memfd of one page */
	TRIAL_NO_TIME,	 /* a struct timespec of 0 */
	TRIAL_SOCKETS,	 /* room for two descriptors */
	TRIAL_SOCKET,	 /* the first of these two; a descriptor was sent to it */
	TRIAL_MESSAGE,	 /* a struct msghdr to receive into */
	TRIAL_BOUND,	 /* a socket that gets an address, */
	TRIAL_CONNECTED, /* one that is connected to it, */
	TRIAL_ADDRESS,	 /* the address */
	TRIAL_ADDRESS_SIZE,
	TRIAL_SIGNAL, /* a signal */
	TRIAL_CLOCK,  /* CLOCK_THREAD_CPUTIME_ID */
	TRIAL_EVENT,  /* a struct sigevent that sends nothing */
	TRIAL_TIMER_ROOM,
	TRIAL_TIMER,
	TRIAL_SETTING, /* a struct itimerspec */
	TRIAL_ROOM,    /* 64 bytes to write to */
	TRIAL_SELF,    /* our process */
	TRIAL_VECTOR,  /* a struct iovec of a few bytes of our own */
	NR_TRIAL_VALUES,
};

enum inject_call_need {
	CALL_ALWAYS,
	CALL_BY_NAME,  /* made only where pidfd_getfd(2) is refused to us (hand_over.c) */
	CALL_OPTIONAL, /* where it fails there is another way, but no filter may end us for it */
};

struct inject_known_call {
	const char *name;
	struct seccomp_call call;
	uint8_t trial[6]; /* enum inject_trial_value */
	enum inject_call_need need;
};

extern const struct inject_known_call inject_known_calls[];
extern const size_t inject_nr_known_calls;

#endif
