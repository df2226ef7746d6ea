/* Is an ELF file a CPython, which one, and where are the few things in it that a walk needs? */
#ifndef SPROF_PYTHON_ELF_H
#define SPROF_PYTHON_ELF_H

#include <stddef.h>

#include "core/pylayout.h"

enum python_elf {
	PYTHON_ELF_NOT = 0,	    /* no interpreter in it, or not a readable ELF file */
	PYTHON_ELF_UNSUPPORTED = 1, /* one whose frames cannot be walked: why[] says so */
	PYTHON_ELF_FOUND = 2,	    /* the layout is filled; its addresses are link-time */
};

/* Costs a few small reads for a file that is none. `fd` is read with pread() and stays open. */
enum python_elf python_elf_read(int fd, struct py_layout *ret_layout, char *why, size_t why_size);

#endif
