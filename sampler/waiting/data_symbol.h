/* The variable of a program or library that lies at an address, as its symbol table names it. */
#ifndef SPROF_DATA_SYMBOL_H
#define SPROF_DATA_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct sandbox;

#define DATA_SYMBOL_SIZE 96 /* of a name with its NUL; longer ones are cut */

/*
 * Writes "the_lock" or "locks+0x40" of the ELF file `fd`. `offset` counts from where the file's
 * first byte is loaded. A child without rights reads the file, this process where `sandbox` is
 * NULL. 0; -ENOENT: no variable is there; -ETIMEDOUT: it took too long; -ECHILD: the child died; or
 * -errno. The descriptor stays the caller's.
 */
int data_symbol_find(const struct sandbox *sandbox, int fd, uint64_t offset,
		     char name[DATA_SYMBOL_SIZE]);

#endif
