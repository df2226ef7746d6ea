/*
 * Functions that modules of this process import by name from a library, in their tables of addresses (GOT), and others
 * in their place. One word of data is exchanged at a time, as the loader itself does when it binds a function at its
 * first call; code, and what is read-only after relocation, is left alone.
 */
#ifndef SPROF_GPU_AGENT_IMPORTS_H
#define SPROF_GPU_AGENT_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import {
	const char *name;
	uintptr_t real; /* where it is, 0 = it is not there */
	uintptr_t ours;
};

/*
 * In all modules that say they need `library` (how its name begins): real functions, bound or to be bound, become ours;
 * with `back`, ours become the real ones. A module that the loader is still at work on is left for the next time.
 */
void imports_exchange(const char *library, const struct import *imports, size_t nr, bool back);

#endif
