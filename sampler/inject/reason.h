/*
 * Why something cannot be done to a process, in words for the user. The functions of this room fill
 * a reason beside the -errno that they return, and print nothing themselves. Which other sources
 * work here is not known in this room: whoever prints a reason looks at only_outside.
 */
#ifndef SPROF_REASON_H
#define SPROF_REASON_H

#include <stdbool.h>

#define INJECT_WHY_SIZE 192

struct inject_reason {
	char why[INJECT_WHY_SIZE];
	char hint[INJECT_WHY_SIZE]; /* the command that fixes it, or "" */
	bool only_outside; /* no code of ours can run in it; it may be looked at from outside */
};

/* Fills the reason; returns err. */
int inject_refuse(struct inject_reason *reason, int err, const char *hint, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for a process that code of ours cannot enter, but that others may look at. */
int inject_refuse_entry(struct inject_reason *reason, int err, const char *hint, const char *why,
			...) __attribute__((format(printf, 4, 5)));

#endif
