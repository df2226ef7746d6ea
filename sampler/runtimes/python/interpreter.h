/*
 * Recognises a CPython in an ELF file: its version, and the addresses and offsets (struct
 * py_layout) that a walk over its frames needs. Addresses are link-time ones until
 * python_elf_move().
 */
#ifndef SPROF_INTERPRETER_H
#define SPROF_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

enum python_elf {
	PYTHON_ELF_NOT = 0,	    /* no interpreter, or not a readable ELF file */
	PYTHON_ELF_UNSUPPORTED = 1, /* its frames cannot be walked; why[] has the reason */
	PYTHON_ELF_FOUND = 2,	    /* the layout is filled; its addresses are link-time */
};

struct mapping;

/* A few small reads for a file that is not an interpreter. `fd` is read with pread(). */
enum python_elf python_elf_read(int fd, struct py_layout *ret_layout, char *why, size_t why_size);

/* false: the mapped file cannot be an interpreter. *ret_bias: address - link-time address. */
bool python_elf_bias(const struct mapping *mapping, uint64_t *ret_bias);
/* Turns link-time addresses into those of a process. */
void python_elf_move(struct py_layout *layout, uint64_t bias);

#endif
