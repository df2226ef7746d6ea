/* Finds the separate debug file of a binary, where distributions put what they strip from it. */
#ifndef SPROF_DEBUG_FILE_H
#define SPROF_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/lookup/symbol_source.h"

/*
 * Looks for the debug file of module->image, unless the image itself has DWARF, and sets
 * module->debug and debug_path where one is found that belongs to it.
 */
void debug_file_find(struct symbol_module *module);

/*
 * Opens a regular file as an ELF image. The path is absolute and leads nowhere above `root`. NULL
 * where that fails.
 */
struct elf_image *debug_file_open(const struct debug_root *root, const char *path);

/*
 * Warns if a section of the image was left out because it would take too much memory. `path` names
 * the file; NULL images are fine.
 */
void debug_file_warn(const struct elf_image *image, const char *path);

/*
 * Opens the file to which dwz moved shared DWARF: `name`, relative to the file with the module's
 * DWARF, which refers to it, or else by its build-id. NULL where no such file exists.
 */
struct elf_image *debug_file_alt(const struct symbol_module *module, const char *name,
				 const uint8_t *id, size_t id_size);

#endif
