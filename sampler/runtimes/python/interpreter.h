/* Is an ELF file a CPython, which one, and where are the few things in it that a walk needs? */
#ifndef SPROF_INTERPRETER_H
#define SPROF_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

enum python_elf {
	PYTHON_ELF_NOT = 0,	    /* no interpreter in it, or not a readable ELF file */
	PYTHON_ELF_UNSUPPORTED = 1, /* one whose frames cannot be walked: why[] says so */
	PYTHON_ELF_FOUND = 2,	    /* the layout is filled; its addresses are link-time */
};

struct mapping;

/* Costs a few small reads for a file that is none. `fd` is read with pread() and stays open. */
enum python_elf python_elf_read(int fd, struct py_layout *ret_layout, char *why, size_t why_size);

/* May the file of a mapping be one? Then how far it lies from its link-time addresses. */
bool python_elf_bias(const struct mapping *mapping, uint64_t *ret_bias);
/* From link-time addresses to those of a process. */
void python_elf_move(struct py_layout *layout, uint64_t bias);

#endif
