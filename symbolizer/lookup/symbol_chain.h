/* The answer to "what is at this address": a chain of functions, each inlined into the one before it. */
#ifndef SPROF_SYMBOL_CHAIN_H
#define SPROF_SYMBOL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings belong to the source and live until it is closed. */
struct symbol_frame {
	const char *name;	   /* as in the symbol table or in DWARF, mangled; NULL = unknown */
	bool is_linkage_name;	   /* it is the linkage name, by DWARF */
	bool is_address;	   /* the name is only an address */
	const char *file;	   /* source file that `line` is in; NULL = unknown */
	uint32_t line;		   /* 0 = unknown */
	const char *declared_file; /* where the function is declared; NULL = unknown */
	uint32_t declared_line;	   /* 0 = unknown */
};

/*
 * The functions at an address, outermost first; each of the others was inlined into the one before
 * it.
 */
struct symbol_chain {
	struct symbol_frame *frames;
	size_t nr, capacity;
};

/* Appends a zeroed frame, the innermost so far. */
struct symbol_frame *symbol_chain_add(struct symbol_chain *chain);

#endif
