/*
 * Why something cannot be done to a process, in words for the user. The functions of this room fill
 * a reason beside the -errno that they return, and print nothing themselves.
 */
#ifndef SPROF_REASON_H
#define SPROF_REASON_H

#define INJECT_WHY_SIZE 192

struct inject_reason {
	char why[INJECT_WHY_SIZE];
	char hint[INJECT_WHY_SIZE]; /* the command that fixes it, or "" */
};

/* Fills the reason; returns err. */
int inject_refuse(struct inject_reason *reason, int err, const char *hint, const char *why, ...)
	__attribute__((format(printf, 4, 5)));

#endif
