/*
 * Compares a few windows, not everything: text of one file differs from other code within bytes.
 */
#include "sampler/target/remapped_text.h"

#include <string.h>
#include <unistd.h>

#include "core/untrusted/remote_read.h"

#define NR_WINDOWS 8
#define WINDOW 256

bool remapped_text_matches(pid_t pid, const struct mapped_file *file, uint64_t start, uint64_t end,
			   uint64_t pgoff)
{
	uint64_t vaddr, step = (end - start) / NR_WINDOWS;

	if (file->fd < 0 || end - start < WINDOW || !mapped_file_vaddr(file, pgoff, &vaddr))
		return false;
	for (int i = 0; i < NR_WINDOWS; i++) {
		uint8_t memory[WINDOW], text[WINDOW];
		uint64_t at = (uint64_t)i * step;

		if (at + WINDOW > end - start ||
		    !mapped_file_vaddr(file, pgoff + at + WINDOW - 1, &vaddr))
			break; /* the last page continues behind the file's text */
		if (pread(file->fd, text, WINDOW, (off_t)(pgoff + at)) != WINDOW ||
		    remote_read(pid, start + at, memory, WINDOW) != WINDOW ||
		    memcmp(memory, text, WINDOW))
			return false;
	}
	return true;
}
