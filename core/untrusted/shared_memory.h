/*
 * Memory that the recorder shares with a target (a memfd). The target may write anything into it,
 * but must not take pages away, because a missing page raises SIGBUS. So files made here have a
 * fixed size, files from elsewhere are refused unless theirs is fixed too, and if a page is missing
 * all the same, the whole mapping is replaced by zeros.
 */
#ifndef SPROF_SHARED_MEMORY_H
#define SPROF_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shared_memory_rights {
	SHARED_MEMORY_WRITE, /* whoever gets the descriptor may write */
	SHARED_MEMORY_READ,  /* only the mapping made here is writable (Linux 5.1) */
};

/*
 * Makes a file of `size` bytes of zeros and maps it, readable and writable. 0 or -errno. The caller
 * closes *ret_fd and calls shared_memory_unmap().
 */
int shared_memory_new(const char *name, size_t size, enum shared_memory_rights rights, int *ret_fd,
		      void **ret_at);
/*
 * Maps a file from elsewhere, readable and writable; the descriptor stays the caller's. 0; -EPERM:
 * its size can change, or it is not memory; -EPROTO: its size is not between `min` and `max` bytes;
 * or the kernel's -errno.
 */
int shared_memory_map(int fd, size_t min, size_t max, size_t *ret_size, void **ret_at);
void shared_memory_unmap(void *at, size_t size);

/*
 * Makes a missing page in [at, at + size) harmless, as the functions above do. -ENOSPC: too many
 * mappings are guarded.
 */
int shared_memory_guard(void *at, size_t size);
/* Was a page missing? If so, the mapping is private now and holds zeros. */
bool shared_memory_is_lost(const void *at);

/* Maps zeros to be shared with children that are forked later; munmap() it. NULL with errno. */
void *shared_memory_of_children(size_t size);

#endif
