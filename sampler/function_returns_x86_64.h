/* Where a function of x86-64 returns, for probes that see it end. */
#ifndef SPROF_FUNCTION_RETURNS_X86_64_H
#define SPROF_FUNCTION_RETURNS_X86_64_H

#include <stddef.h>
#include <stdint.h>

#define FUNCTION_MAX_RETURNS 32

/*
 * Finds the return instructions of the function at an offset of the file at fd, and of what it
 * jumps to at its end (tail calls). `size` is what its symbol says, 0 unknown. Returns their
 * number, 0 where none was found or where there are more than FUNCTION_MAX_RETURNS.
 */
size_t function_returns_find(int fd, uint64_t offset, uint64_t size,
			     uint64_t ret_returns[FUNCTION_MAX_RETURNS]);

#endif
