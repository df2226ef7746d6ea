/*
 * The machine code of a function, from the file that was sampled, for reports that show
 * instructions. Extents come from the symbol tables, or from the unwind table of a file without
 * symbols.
 */
#ifndef SPROF_FUNCTION_CODE_H
#define SPROF_FUNCTION_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTION_CODE_MAX (1u << 20) /* bytes of one function; the rest is not read */

struct profile;
struct code_file;

struct function_code {
	uint64_t address; /* of the first byte, as in frames of that module */
	uint64_t vaddr;	  /* link-time address of that byte, as disassemblers print it */
	uint8_t *bytes;	  /* the caller frees them */
	size_t size;
};

/*
 * Opens the file of a module of the profile. 0 or -errno; -ENOTSUP where such a module has no file,
 * -ESTALE where the file is not the one that was sampled, -ENOEXEC where it holds no x86-64 code.
 */
int code_file_open(const struct profile *p, uint32_t module, struct code_file **ret_file);
void code_file_close(struct code_file *file); /* NULL is fine */

/*
 * Reads the function that holds the address of a frame. 0; -ENOENT where no function is known
 * there; or -EIO.
 */
int code_file_read(struct code_file *file, uint64_t address, struct function_code *ret_code);

/*
 * Translates a link-time address to the address that frames have; false where it lies in no
 * segment.
 */
bool code_file_address(const struct code_file *file, uint64_t vaddr, uint64_t *ret_address);

#endif
