/*
 * The functions of an ELF file by their role for a safe point: those that a thread must not be
 * inside of, those in which threads only wait, and those by which a library is loaded. The tables
 * are untrusted: see confined_roles.h.
 */
#ifndef SPROF_CRITICAL_FUNCTIONS_H
#define SPROF_CRITICAL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum function_role {
	ROLE_UNNAMED,	/* no symbol covers it */
	ROLE_PLAIN,	/* exported, in no list; kept of libc only */
	ROLE_WAITS,	/* a function in which threads wait for each other */
	ROLE_FORBIDDEN, /* allocator, loader, fork */
};

struct function_range {
	uint64_t start, end; /* virtual addresses of the file */
	enum function_role role;
};

/* Functions by which a library is loaded. */
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
	bool is_libc;			      /* defines __libc_start_main() */
	uint64_t needed[NR_NEEDED_FUNCTIONS]; /* 0 = it has none */
};

/*
 * Reads the symbol tables of the ELF file at fd, which stays open. 0, or -errno: it is not an ELF
 * file.
 */
int module_functions_read(int fd, struct module_functions *ret_functions);
void module_functions_fini(struct module_functions *functions);
enum function_role module_functions_find(const struct module_functions *functions, uint64_t vaddr);

#endif
