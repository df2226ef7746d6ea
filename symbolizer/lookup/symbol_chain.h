/* The answer to "what is at this address": a chain of functions, each inlined into the one before it. */
#ifndef SPROF_SYMBOL_CHAIN_H
#define SPROF_SYMBOL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings belong to the source and live until it is closed. */
struct symbol_frame {
	const char *name;     /* as the symbol table or DWARF has it, mangled; NULL = unknown */
	bool is_linkage_name; /* DWARF says that this is what the linker calls it */
	bool is_address;      /* the name is a number, for want of one */
	const char *file;     /* source file that `line` is in; NULL = unknown */
	uint32_t line;	      /* 0 = unknown */
	const char *declared_file; /* where the function is declared; NULL = unknown */
	uint32_t declared_line;	   /* 0 = unknown */
};

/* Outermost function first; each further one was inlined into the one before it. */
struct symbol_chain {
	struct symbol_frame *frames;
	size_t nr, capacity;
};

/* Adds a zeroed frame at the inner end. */
struct symbol_frame *symbol_chain_add(struct symbol_chain *chain);

#endif
