/* From names to addresses: which functions of a file are called so? */
#ifndef SPROF_FUNCTION_NAMES_H
#define SPROF_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct named_function {
	char *name; /* as a person reads it; of several at its address the one that reports show */
	uint64_t
		offset; /* in the file: of its first instruction, or of the push behind an endbr64 */
	size_t glob;	/* the first that fits */
	bool is_resolver; /* what is called so is chosen by this function when it is linked (IFUNC) */
};

/*
 * The functions that the symbol tables of an ELF file and of its debug file define under a name that one of the globs
 * (fnmatch(3)) fits: as the symbol table has it, as a person reads it, or as that without the parameters of C++. By
 * offset, each once. `path` helps to find the debug file; fd stays the caller's. 0, or -errno where it is no ELF file.
 */
int function_names_find(int fd, const char *path, const char *const *globs, size_t nr_globs,
			struct named_function **ret_functions, size_t *ret_nr);
void function_names_free(struct named_function *functions, size_t nr);

#endif
