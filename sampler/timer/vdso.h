/* Where the kernel's functions lie in a process. */
#ifndef SPROF_VDSO_H
#define SPROF_VDSO_H

#include <stdint.h>
#include <sys/types.h>

/* The address, in that process, of a function of the vdso; 0 where there is none. */
uint64_t timer_vdso_address(pid_t pid, const char *name);

#endif
