/*
 * Finds code that has no CFI but a known shape: signal trampolines, glibc's _init and _fini,
 * functions of Go's runtime that go to the stack of their thread, and where coroutines of
 * Boost.Context begin. Many stacks lead through such code.
 */
#ifndef SPROF_KNOWN_CODE_H
#define SPROF_KNOWN_CODE_H

#include <stddef.h>
#include <stdint.h>

/* The rule of a range. */
enum known_code {
	KNOWN_CALLED = 0,      /* as after a call: the CFA is sp + 8 */
	KNOWN_CALLED_8 = 1,    /* 8 bytes further down: the CFA is sp + 16 */
	KNOWN_SIGNAL = 2,      /* registers lie in the ucontext at sp */
	KNOWN_OTHER_STACK = 3, /* the CFA is rbp + 16, on this stack or another */
	KNOWN_ROOT = 4,	       /* nothing called it: the outermost frame of a coroutine */
};

typedef void known_code_fn(void *context, uint64_t vaddr, uint64_t length, enum known_code kind);

/* Searches `text`, which lies at a virtual address, and reports each range that it recognises. */
void known_code_find(uint64_t vaddr, const uint8_t *text, size_t size, known_code_fn *found,
		     void *context);

#endif
