/* Ranges of addresses in a process that a thread may not be in, and those whose names are known. */
#ifndef SPROF_CRITICAL_FUNCTIONS_H
#define SPROF_CRITICAL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum function_role {
	ROLE_UNNAMED,	/* no symbol covers it */
	ROLE_PLAIN,	/* exported, and of no interest */
	ROLE_WAITS,	/* a function in which threads wait for each other */
	ROLE_FORBIDDEN, /* allocator, loader, fork */
};

struct function_range {
	uint64_t start, end; /* virtual addresses of the file */
	enum function_role role;
};

/* What a library is loaded by. */
enum needed_function {
	NEEDED_DLOPEN,
	NEEDED_DLERROR,
	NEEDED_DLSYM,
	NEEDED_ERRNO, /* __errno_location */
	NR_NEEDED_FUNCTIONS
};

struct module_functions {
	struct function_range *ranges; /* sorted */
	size_t nr, capacity;
	bool has_malloc;		      /* defines malloc() */
	bool is_libc;			      /* defines what starts a C program */
	uint64_t needed[NR_NEEDED_FUNCTIONS]; /* 0 = it has none */
};

/* Reads the symbol tables of the ELF file at fd, which stays open. -errno: it is none. */
int module_functions_read(int fd, struct module_functions *ret_functions);
void module_functions_fini(struct module_functions *functions);
enum function_role module_functions_find(const struct module_functions *functions, uint64_t vaddr);

#endif
