/*
 * Where the separate debug file of an ELF file may lie, and whether a given file is it. gdb looks
 * in the same places: by build-id, then by the name in .gnu_debuglink.
 */
#ifndef SPROF_DEBUG_PATHS_H
#define SPROF_DEBUG_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/elf_file.h"

#define DEBUG_PATHS_DIR "/usr/lib/debug"

/* The path by build-id, to be freed. NULL: no path can be made of such a build-id. */
char *debug_path_by_build_id(const char *debug_dir, const uint8_t *id, size_t size);

/*
 * The name and the checksum in .gnu_debuglink. false: there is none, or its name is no plain file
 * name. The name belongs to the image.
 */
bool debug_link_read(struct elf_image *image, const char **ret_name, uint32_t *ret_crc);

/* The directories in which the name is looked up, in this order. */
enum debug_link_place {
	DEBUG_LINK_BESIDE, /* the directory of the ELF file */
	DEBUG_LINK_BELOW,  /* .debug in that directory */
	DEBUG_LINK_DIR,	   /* the same path below the debug directory */
	DEBUG_LINK_NR_PLACES,
};

/* The path of `name` there, to be freed; `path` is that of the ELF file. NULL: no such path. */
char *debug_path_by_link(const char *debug_dir, const char *path, const char *name,
			 enum debug_link_place place);

/* Is `debug` the debug file of `image`? Compares `crc` if one of them has no build-id. */
bool debug_file_belongs(const struct elf_image *debug, const struct elf_image *image, uint32_t crc);

#endif
