/*
 * The instructions of PLT stubs, and the relocations of their slots, on x86-64 (System V ABI,
 * AMD64 supplement, 5.2; binutils bfd/elfxx-x86.c). Sizes are in bytes; code is untrusted.
 */
#ifndef SPROF_PLT_STUBS_X86_64_H
#define SPROF_PLT_STUBS_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a relocation puts into its slot. */
enum plt_relocation {
	PLT_OTHER,
	PLT_SYMBOL,   /* the address of its symbol */
	PLT_RESOLVER, /* what the function at its addend returns */
};

enum plt_relocation plt_relocation(uint32_t type);

/* The size of a stub in a section that begins with `code`. */
uint64_t plt_stub_size(const uint8_t *code, uint64_t size);
/* Returns the slot that an indirect jump at `code` goes through; 0 for another instruction. */
uint64_t plt_jump_slot(const uint8_t *code, size_t size, uint64_t address);
/*
 * Returns whether this is a lazy stub without such a jump, as with IBT: it pushes the number of its
 * relocation in .rela.plt.
 */
bool plt_pushed_number(const uint8_t *code, size_t size, uint32_t *ret_number);
/* Is this the first stub? Lazy stubs jump to it, and it enters the dynamic linker. */
bool plt_is_resolver(const uint8_t *code, size_t size);

#endif
