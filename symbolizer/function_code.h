/*
 * The machine code of a function, out of the file that was sampled: for reports that show instructions.
 * Extents come from the symbol tables, or from the unwind table of a file that has none.
 */
#ifndef SPROF_FUNCTION_CODE_H
#define SPROF_FUNCTION_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTION_CODE_MAX (1u << 20) /* bytes of one function; what lies behind them is not read */

struct profile;
struct code_file;

struct function_code {
	uint64_t address; /* of the first byte, as frames of that module have it */
	uint64_t vaddr;	  /* where it is linked to run, as disassemblers print it */
	uint8_t *bytes;	  /* the caller frees them */
	size_t size;
};

/*
 * Opens the file of a module of the profile. 0, or -errno: -ENOTSUP where such a module has none,
 * -ESTALE where the file is another one than was sampled, -ENOEXEC where it holds no x86-64 code.
 */
int code_file_open(const struct profile *p, uint32_t module, struct code_file **ret_file);
void code_file_close(struct code_file *file); /* NULL is fine */

/*
 * Reads the function that holds the address of a frame. 0; -ENOENT where no function is known there,
 * or -EIO.
 */
int code_file_read(struct code_file *file, uint64_t address, struct function_code *ret_code);

/* The address, as frames have it, of code that is linked to run at vaddr. */
bool code_file_address(const struct code_file *file, uint64_t vaddr, uint64_t *ret_address);

#endif
