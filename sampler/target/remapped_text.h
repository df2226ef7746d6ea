/*
 * Some programs copy their own text into anonymous memory at the same address, to get huge pages,
 * so their code belongs to no file. Memory that equals the file's text is treated as that file's,
 * with its rows and names.
 */
#ifndef SPROF_REMAPPED_TEXT_H
#define SPROF_REMAPPED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/target/mapped_file.h"

/*
 * Does the process's memory at [start, end) equal the file's from `pgoff` on? Compares several
 * places; false where the process cannot be read.
 */
bool remapped_text_matches(pid_t pid, const struct mapped_file *file, uint64_t start, uint64_t end,
			   uint64_t pgoff);

#endif
