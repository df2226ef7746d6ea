/*
 * What our own seccomp filters say of the system calls that sprof has a target make, found out by
 * making them: a forked child makes each one for real, because a filter may end the process for
 * it. A target under the same filters may do what that child may do.
 */
#ifndef SPROF_SECCOMP_TRIAL_H
#define SPROF_SECCOMP_TRIAL_H

struct inject_reason;

/* 0: every call succeeded. -ENOTSUP and the reason: one did not, or the child ended for it. */
int inject_seccomp_try(struct inject_reason *reason);

#endif
