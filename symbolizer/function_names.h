/* Finds the functions of a file by name, for probes. */
#ifndef SPROF_FUNCTION_NAMES_H
#define SPROF_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_module;

struct named_function {
	char *name;	  /* readable; of several names of one address the one that reports show */
	uint64_t offset;  /* in the file: its first instruction, or the push behind its endbr64 */
	uint64_t size;	  /* bytes of it from there on, as its symbol says; 0: unknown */
	size_t order;	  /* in which the names were found */
	size_t glob;	  /* index of the first glob that fits */
	bool is_resolver; /* an IFUNC resolver, which chooses the function when it is linked */
	bool is_local;	  /* other files cannot refer to it by that name */
};

/*
 * Finds the functions that the symbol tables of a module's image and of its debug file define under
 * a name that fits one of the globs (fnmatch(3)): the name in the table, the readable name, or the
 * readable name without the parameters of C++. Sorted by offset, each once.
 */
void function_names_search(const struct symbol_module *module, const char *const *globs,
			   size_t nr_globs, struct named_function **ret_functions, size_t *ret_nr);
void function_names_free(struct named_function *functions, size_t nr);

#endif
