/*
 * The ELF images mapped into this process, found without dlsym: dlsym and pthread_create are in
 * different libraries before and after glibc 2.34, and the agent must use the copy of libcupti
 * that the target has mapped, not the one on the search path.
 */
#ifndef SPROF_GPU_AGENT_IMAGE_H
#define SPROF_GPU_AGENT_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct image {
	uintptr_t base;
	const ElfW(Phdr) * phdrs;
	uint16_t nr_phdrs;
	char path[512]; /* as the loader knows it, truncated to this size */
};

/*
 * Finds the images whose file name starts with `name`. Returns their number; *ret is the first in
 * link-map order and may be NULL.
 */
int image_find(const char *name, struct image *ret);
/* The same without the image that is mapped at `base`. */
int image_find_except(const char *name, uintptr_t base, struct image *ret);
/* Finds the image that an address lies in. */
bool image_at(const void *address, struct image *ret);
/* The address of a defined dynamic symbol, or NULL. */
void *image_symbol(const struct image *image, const char *name);
/* The file name without its folder. */
const char *image_name(const struct image *image);
/* A symbol of the C library: in libc, libpthread or libdl. NULL where it has none. */
void *image_libc_symbol(const char *name);

#endif
