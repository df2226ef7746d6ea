/* What a program is made to run at its entry point: two bytes each. */
#ifndef SPROF_X86_64_ENTRY_CODE_H
#define SPROF_X86_64_ENTRY_CODE_H

#include <stdint.h>

static const uint8_t entry_breakpoint[2] = { 0xcc, 0x90 };  /* int3 */
static const uint8_t entry_loop[2] = { 0xeb, 0xfe };	    /* jmp to itself */
static const uint8_t entry_system_call[2] = { 0x0f, 0x05 }; /* syscall */

/* Where a thread is that has run the breakpoint at an address. */
static inline uint64_t entry_behind_breakpoint(uint64_t address)
{
	return address + 1;
}

#endif
