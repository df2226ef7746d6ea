/* The memory of a process, by the kernel's count. */
#ifndef SPROF_MEMORY_HELD_H
#define SPROF_MEMORY_HELD_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Bytes of anonymous memory that a process holds, in RAM and in swap; 0 where that cannot be read,
 * as of a process that has ended. Costs one read of /proc/PID/status: the kernel keeps the counts.
 */
uint64_t memory_held_bytes(pid_t pid);

#endif
