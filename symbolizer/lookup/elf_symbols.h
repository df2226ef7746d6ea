/*
 * The function symbols of one symbol table, sorted for lookup by address. Where an address has
 * several names, the same one is chosen on every run: see symbol_rank().
 */
#ifndef SPROF_ELF_SYMBOLS_H
#define SPROF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/elf_file.h"

struct elf_symbols;

/*
 * Reads the section (SHT_SYMTAB or SHT_DYNSYM) of `image`. The segments and sections of `code` say
 * where code is: the mapped file, where `image` is its debug file. Names point into `image`, which
 * must outlive the result. NULL where no function symbol can be read.
 */
struct elf_symbols *elf_symbols_new(struct elf_image *image, struct elf_section *section,
				    const struct elf_image *code);
void elf_symbols_free(struct elf_symbols *symbols);

/* Returns the name of the function that covers vaddr, or NULL. */
const char *elf_symbols_lookup(const struct elf_symbols *symbols, uint64_t vaddr);

/*
 * Finds the extent of that function, from its first address to the one behind its last; without a
 * size, up to the next symbol. Returns false where no function covers vaddr.
 */
bool elf_symbols_extent(const struct elf_symbols *symbols, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_end);

#endif
