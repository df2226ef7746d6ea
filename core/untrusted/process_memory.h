/*
 * Reads the memory of another process, where the caller may do so (PTRACE_MODE_ATTACH). Container
 * engines have refused process_vm_readv(2) for long (Docker before 23.0), so /proc/PID/mem serves
 * where that call is refused.
 */
#ifndef SPROF_PROCESS_MEMORY_H
#define SPROF_PROCESS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * Copies the ranges of the process one after the other to `to`, up to the first that is not wholly
 * there. Returns the number of bytes, or -errno where there are none. Uses system calls only, so
 * it may be called between fork(2) and exec(2).
 */
int64_t process_memory_read(pid_t pid, void *to, const struct iovec *ranges, unsigned long nr);

#endif
