/* What speaks against putting code into a process, by what /proc says of it. */
#ifndef SPROF_INJECT_CHECK_H
#define SPROF_INJECT_CHECK_H

#include <sys/types.h>

struct inject_reason;

/* 0, or -errno and the reason, as inject_process_open(). */
int inject_check_status(pid_t pid, struct inject_reason *reason);
/* The reason why its memory or a thread is closed to us, after EACCES or EPERM. Returns -EPERM. */
int inject_check_rights(pid_t pid, struct inject_reason *reason);
#endif
