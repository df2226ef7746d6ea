/*
 * The ELF images mapped into this process, found without the loader's own look-up: dlsym and
 * pthread_create live in different libraries before and after glibc 2.34, and which copy of libcupti
 * the target uses is not for the search path to say.
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
	char path[512]; /* as the loader knows it; cut */
};

/* The first image, in the order of the link map, whose file name starts with `name`; returns how many
 * there are. `ret` may be NULL. */
int image_find(const char *name, struct image *ret);
/* The image that an address lies in; false where it is in none. */
bool image_at(const void *address, struct image *ret);
/* The address of a defined dynamic symbol, or NULL. */
void *image_symbol(const struct image *image, const char *name);
/* The name of its file, without the folder. */
const char *image_name(const struct image *image);
/* Of the C library, wherever it lives there: libc, libpthread or libdl. */
void *image_libc_symbol(const char *name);

#endif
