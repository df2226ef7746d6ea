/*
 * Finds in an ELF file what the Go linker left there: the table of functions, the address from
 * which its entries count, and the data of inlined calls. The last two are in the runtime's
 * description of the program (runtime.moduledata).
 */
#ifndef SPROF_GO_PROGRAM_H
#define SPROF_GO_PROGRAM_H

#include <stdbool.h>

#include "core/base/elf_file.h"
#include "symbolizer/go/pclntab.h"

struct go_program {
	struct pclntab table;
	struct elf_image *image;
	struct elf_section
		segment; /* the segment that holds the table, in a file without sections */
	uint64_t work;	 /* what may still be searched, in bytes */
};

/*
 * False where the file is no Go program, or its table cannot be read. The program points into the
 * image, and is not to be copied.
 */
bool go_program_open(struct elf_image *image, struct go_program *ret_program);
void go_program_close(struct go_program *program);

#endif
