/*
 * What a thread waited for, as its kernel stack and the way it left its CPU tell.
 */
#ifndef SPROF_WAIT_REASON_H
#define SPROF_WAIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wait_reason {
	REASON_NONE, /* a function of the kernel that tells nothing */
	REASON_LOCK,
	REASON_PIPE,
	REASON_SOCKET,
	REASON_DISK,
	REASON_SLEEP,
	REASON_POLL,
	REASON_CHILD,
	REASON_SIGNAL,
	REASON_TERMINAL,
	REASON_FILE_LOCK,
	REASON_KERNEL_LOCK,
	REASON_PAGE_FAULT,
	REASON_STOPPED,
	REASON_PREEMPTED,
	REASON_NEW_THREAD,
	REASON_OTHER,
	REASON_CPU, /* the part of a wait after the thread was woken */
	REASON_THROTTLED,
	NR_WAIT_REASONS
};

/* The name of the frame that stands for the reason: "lock wait", "sleep", ... */
const char *wait_reason_name(enum wait_reason reason);

/* What a function of the kernel tells about a wait in it. */
struct wait_hint {
	uint8_t reason;	   /* enum wait_reason */
	uint8_t of_switch; /* enum switch_part */
	bool wakes;	   /* it is part of waking a thread */
};

/* Functions that say nothing about the wait, nor do those that they called. */
enum switch_part {
	SWITCH_NOT,
	SWITCH_ITSELF,
	SWITCH_ENTRY, /* the way from an interrupt to the switch */
};

struct wait_hint wait_hint_of(const char *symbol);

/*
 * Both take the hints of a kernel stack, leaf first. The first returns how many frames at the leaf
 * belong to the switch itself, and to what sampled it; `state` is an enum wait_state.
 */
size_t wait_frames_of_switch(const struct wait_hint *hints, size_t nr);
/* Of the stack of a waker: how many frames at the leaf are the waking itself. */
size_t wait_frames_of_waking(const struct wait_hint *hints, size_t nr);
/*
 * And how many frames from the leaf on belong to an interrupt, with its entry; 0: the thread itself
 * woke the other one.
 */
size_t wait_frames_of_interrupt(const struct wait_hint *hints, size_t nr);
enum wait_reason wait_reason_of(const struct wait_hint *hints, size_t nr, uint32_t state);

#endif
