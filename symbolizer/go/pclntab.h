/*
 * The table that the Go linker writes for the runtime's own tracebacks (.gopclntab): the functions
 * of a program by address, with names, source lines and inlined calls. `strip` and the linker's
 * -s -w leave it in place. The bytes are untrusted: every offset is checked, and all walks over
 * line tables share one budget.
 *
 * Source: debug/gosym/pclntab.go, runtime/symtab.go and runtime/symtabinl.go of Go 1.16 to 1.26.
 */
#ifndef SPROF_PCLNTAB_H
#define SPROF_PCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pclntab_version {
	PCLNTAB_GO116,
	PCLNTAB_GO118,
	PCLNTAB_GO120, /* has inlined calls in the form that is read here */
};

struct pclntab {
	const uint8_t *data; /* from the header on */
	uint64_t size;
	enum pclntab_version version;
	uint32_t quantum; /* addresses in line tables count in units of it */
	uint64_t nr_functions;
	uint64_t header_text; /* where the code begins, by the header; 0 = it does not say */
	uint64_t text;	      /* where the code begins: set by the owner before any lookup */
	uint64_t names, units, files, values, functions; /* offsets of the parts in data */
	const uint8_t *calls; /* the data of functions (go:func.*), set by the owner; or NULL */
	uint64_t calls_size;
	uint64_t budget; /* steps through line tables that are left */
};

struct pclntab_function {
	uint64_t start, end; /* link-time addresses */
	uint64_t at;	     /* offset of its description in the table */
	const char *name;    /* as in the source: "main.(*T).Run"; never empty */
	uint32_t line;	     /* where it is declared; 0 = unknown */
};

/* A call that the compiler replaced by the body of the function that was called. */
struct pclntab_call {
	const char *name;   /* of the function that was called; never empty */
	uint64_t caller_pc; /* an address of the caller, which stands for the line of the call */
	uint32_t line;	    /* where the function that was called is declared; 0 = unknown */
};

/*
 * `data` must outlive the result and be followed by a NUL. False: no table, or of an unknown form.
 */
bool pclntab_open(const uint8_t *data, uint64_t size, struct pclntab *ret_table);

/* Finds the function that covers an address. */
bool pclntab_find(const struct pclntab *table, uint64_t address, struct pclntab_function *ret);

/* Finds the source file and line of an address of the function; false where they are not known. */
bool pclntab_position(struct pclntab *table, const struct pclntab_function *function,
		      uint64_t address, const char **ret_file, uint32_t *ret_line);

/* Tells whether code of another function was inlined at the address. */
bool pclntab_is_inlined(struct pclntab *table, const struct pclntab_function *function,
			uint64_t address);

/* Finds the innermost inlined call at the address; false where there is none, or none readable. */
bool pclntab_inlined_call(struct pclntab *table, const struct pclntab_function *function,
			  uint64_t address, struct pclntab_call *ret);

#endif
