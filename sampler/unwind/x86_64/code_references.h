/*
 * Finds the addresses that machine code calls or otherwise names, by decoding it from the first
 * byte to the last. Where that goes astray, in constants between functions, what it finds are
 * random addresses, which hardly ever lie in the same file.
 */
#ifndef SPROF_CODE_REFERENCES_H
#define SPROF_CODE_REFERENCES_H

#include <stddef.h>
#include <stdint.h>

enum code_reference {
	REFERENCE_CALL,	   /* a function begins there */
	REFERENCE_ADDRESS, /* a register is set to the address */
	REFERENCE_TABLE,   /* addresses to jump to begin there */
};

typedef void code_reference_fn(void *context, enum code_reference kind, uint64_t vaddr);

/* Reports each reference of `text`, which lies at a virtual address. */
void code_references_find(uint64_t vaddr, const uint8_t *text, size_t size,
			  code_reference_fn *found, void *context);

enum code_fate {
	FATE_UNKNOWN,
	FATE_RETURNS, /* a ret, or a jump elsewhere: compilers call what never returns */
	FATE_NEVER,   /* no ret, and no jump that leads elsewhere */
};

/* Does the function return whose code this is, all of it? */
enum code_fate code_fate(const uint8_t *text, size_t size);

#endif
