/*
 * Where the functions of the vdso lie in a process: code inside it calls the clock through them,
 * without a system call.
 */
#ifndef SPROF_VDSO_H
#define SPROF_VDSO_H

#include <stdint.h>
#include <sys/types.h>

/* The address, in that process, of a function of the vdso; 0 where there is none. */
uint64_t timer_vdso_address(pid_t pid, const char *name);

#endif
