/* Reasons not to put code into a process, as far as /proc shows them. */
#ifndef SPROF_INJECT_CHECK_H
#define SPROF_INJECT_CHECK_H

#include <sys/types.h>

struct inject_reason;

/* 0, or -errno and the reason, as inject_process_open(). */
int inject_check_status(pid_t pid, struct inject_reason *reason);
/*
 * Finds out why the process refused us, after EACCES or EPERM, and fills the reason. Returns
 * -EPERM.
 */
int inject_check_rights(pid_t pid, struct inject_reason *reason);
#endif
