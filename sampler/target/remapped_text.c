/* Compares a few windows of a process's memory with a file. */
#include "sampler/target/remapped_text.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define NR_WINDOWS 8
#define WINDOW 256

bool remapped_text_matches(pid_t pid, const struct mapped_file *code, uint64_t start, uint64_t end,
			   uint64_t pgoff)
{
	uint64_t vaddr, step = (end - start) / NR_WINDOWS;

	if (code->fd < 0 || end - start < WINDOW || !mapped_file_vaddr(code, pgoff, &vaddr))
		return false;
	for (int i = 0; i < NR_WINDOWS; i++) {
		uint8_t memory[WINDOW], file[WINDOW];
		uint64_t at = (uint64_t)i * step;
		struct iovec local = { memory, WINDOW };
		struct iovec remote = { (void *)(start + at), WINDOW };

		if (at + WINDOW > end - start ||
		    !mapped_file_vaddr(code, pgoff + at + WINDOW - 1, &vaddr))
			break; /* the rest of the last page is not the file's */
		if (pread(code->fd, file, WINDOW, (off_t)(pgoff + at)) != WINDOW ||
		    process_vm_readv(pid, &local, 1, &remote, 1, 0) != WINDOW ||
		    memcmp(memory, file, WINDOW))
			return false;
	}
	return true;
}
