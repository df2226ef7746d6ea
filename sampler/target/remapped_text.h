/*
 * Programs that copy their own text into anonymous memory at the same address (to get huge pages)
 * leave code that belongs to no file. Its bytes say where it came from: memory that equals the file
 * is that file's code, with its rows and its names.
 */
#ifndef SPROF_REMAPPED_TEXT_H
#define SPROF_REMAPPED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/target/mapped_file.h"

/*
 * Does the process's memory at [start, end) hold what the file has from `pgoff` on? Compares several
 * places; a process that cannot be read is a no.
 */
bool remapped_text_matches(pid_t pid, const struct mapped_file *code, uint64_t start, uint64_t end,
			   uint64_t pgoff);

#endif
