/* Which instructions of x86-64 may have a probe (uprobe) on them. */
#ifndef SPROF_PROBE_SAFETY_X86_64_H
#define SPROF_PROBE_SAFETY_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_MAX_INSTRUCTION 16

/*
 * Would the kernel run this instruction as it is, with a probe on it? `nr` bytes of code are there.
 */
bool probe_is_safe(const uint8_t *code, size_t nr);

#endif
