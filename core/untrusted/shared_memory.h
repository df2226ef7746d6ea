/*
 * Memory that the recorder shares with a target (a memfd). The target may write anything into it,
 * but it must not be able to take it away: a page that is missing would raise SIGBUS. So files that
 * are made here cannot change their size, files that come from elsewhere are refused unless they
 * cannot either, and should a page be missing all the same, zeros take the place of the whole.
 */
#ifndef SPROF_SHARED_MEMORY_H
#define SPROF_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shared_memory_rights {
	SHARED_MEMORY_WRITE, /* whoever gets the descriptor may write */
	SHARED_MEMORY_READ,  /* only the mapping that is made here is writable (Linux 5.1) */
};

/*
 * Makes a file of `size` bytes of zeros and maps it, readable and writable. 0 or -errno. The caller
 * closes *ret_fd and calls shared_memory_unmap().
 */
int shared_memory_new(const char *name, size_t size, enum shared_memory_rights rights, int *ret_fd,
		      void **ret_at);
/*
 * Maps a file that somebody else made, readable and writable; the descriptor stays the caller's. 0;
 * -EPERM: its size can be changed, or it is no memory at all; -EPROTO: it has not between `min` and
 * `max` bytes; or the kernel's -errno.
 */
int shared_memory_map(int fd, size_t min, size_t max, size_t *ret_size, void **ret_at);
void shared_memory_unmap(void *at, size_t size);

/*
 * Makes a missing page in [at, at + size) harmless. The above have done that already. -ENOSPC: too
 * many mappings are watched over.
 */
int shared_memory_guard(void *at, size_t size);
/* Was a page missing? Then the mapping holds zeros now, and is shared with nobody. */
bool shared_memory_is_lost(const void *at);

/* Zeros that this process shares with the children it forks; munmap() ends it. NULL with errno. */
void *shared_memory_of_children(size_t size);

#endif
