/*
 * Reads the memory of another process, where the caller may do so (PTRACE_MODE_ATTACH). If
 * process_vm_readv(2) is refused, as by container engines (Docker before 23.0), /proc/PID/mem is
 * read.
 */
#ifndef SPROF_PROCESS_MEMORY_H
#define SPROF_PROCESS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * Copies the ranges of the process one after the other to `to`, up to the first byte that cannot be
 * read. Returns the number of bytes, or -errno if there are none. Uses system calls only, so it may
 * be called between fork(2) and exec(2).
 */
int64_t process_memory_read(pid_t pid, void *to, const struct iovec *ranges, unsigned long nr);

#endif
