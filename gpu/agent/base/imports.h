/*
 * Replaces functions that modules of this process import from a library, in the modules' address
 * tables (GOT). One word of data is exchanged at a time, as the loader does when it binds a
 * function at its first call. Code, and tables that are read-only after relocation (RELRO), are
 * left alone.
 */
#ifndef SPROF_GPU_AGENT_IMPORTS_H
#define SPROF_GPU_AGENT_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import {
	const char *name;
	uintptr_t real; /* address; 0 = this library has no such function */
	uintptr_t ours;
};

/*
 * Puts our functions in place of the real ones in all modules that need a library whose name
 * starts with `library`, whether their imports are bound yet or not; `back` undoes that. Modules
 * that the loader has not finished relocating are skipped until the next call. Returns the number
 * of places that hold a real function and cannot be written.
 */
size_t imports_exchange(const char *library, const struct import *imports, size_t nr, bool back);

#endif
