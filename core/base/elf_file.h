/*
 * One ELF file (64-bit, little-endian) opened for its symbols. Headers are copied when the file is
 * opened, and a section when it is first asked for, so only the needed part of a 500 MB binary is
 * read. The file is untrusted: every offset and size is checked. Nothing is mapped (see
 * elf_headers.h).
 */
#ifndef SPROF_ELF_FILE_H
#define SPROF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/elf_headers.h"

struct elf_section {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags, address, offset, size;
	uint8_t *data; /* NULL until loaded */
	uint64_t data_size;
	bool tried; /* loading was tried; data == NULL then means that it failed */
};

struct elf_image {
	struct elf_source source;
	bool keeps_fd;	 /* the descriptor in it belongs to the caller and stays open */
	uint8_t *memory; /* owned; NULL where the source is a file */
	uint16_t machine;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size; /* 0 = has none */
	Elf64_Phdr *segments;
	size_t nr_segments;
	struct elf_section *sections;
	size_t nr_sections;
	char *section_names;
	uint64_t stored_bytes; /* on the disk; less than the size of a sparse file */
	uint64_t loaded_bytes; /* of all sections that are in memory */
	uint64_t loaded_max;   /* limit for them; 0 = not yet known */
	/* The content that a limit kept from being loaded; size 0 = none. */
	struct elf_refusal {
		const char *section;
		uint64_t size, limit; /* of the content, in bytes */
	} refused;
};

/* Takes over fd and closes it, on failure too. 0, or -errno as elf_headers_read() gives it. */
int elf_image_open(int fd, struct elf_image **ret_image);
/* The same, but fd stays open and must outlive the image. */
int elf_image_open_borrowed(int fd, struct elf_image **ret_image);
/* The same for bytes in memory, which are copied. */
int elf_image_open_memory(const void *data, size_t size, struct elf_image **ret_image);
void elf_image_close(struct elf_image *image);

/* Finds a section with that name and with content; ".debug_x" finds ".zdebug_x" too. NULL: none. */
struct elf_section *elf_image_section(struct elf_image *image, const char *name);
struct elf_section *elf_image_section_at(struct elf_image *image, size_t index);

/*
 * Returns the section's content, decompressed, which the image owns. A NUL follows that *ret_size
 * does not count, so the last string of a string table always ends. NULL if it cannot be read or
 * exceeds a limit (image->refused): the expanded size of a section, and that of all sections, is
 * limited by the stored size and by the memory that is left.
 */
const uint8_t *elf_section_data(struct elf_image *image, struct elf_section *section,
				uint64_t *ret_size);
/* Returns the size of that content without reading it; 0 where it cannot be known. */
uint64_t elf_section_content_size(const struct elf_image *image, const struct elf_section *section);
/*
 * Copies a part of the content. 0, or -errno; -EINVAL where the section is compressed and not
 * loaded.
 */
int elf_section_read(const struct elf_image *image, const struct elf_section *section,
		     uint64_t offset, void *buf, uint64_t size);
bool elf_section_is_compressed(const struct elf_section *section);
/* Frees the copy; the next elf_section_data() reads the file again. */
void elf_section_unload(struct elf_image *image, struct elf_section *section);

/* A symbol table (SHT_SYMTAB or SHT_DYNSYM) with the names of its symbols. */
struct elf_symbol_table {
	const uint8_t *symbols;
	size_t nr;
	const char *strings;
	uint64_t strings_size;
};

/*
 * Returns false where the table or its names cannot be read. Both belong to the image: the symbols
 * live until elf_section_unload() of `section`, the names as long as the image.
 */
bool elf_symbol_table_read(struct elf_image *image, struct elf_section *section,
			   struct elf_symbol_table *ret_table);

/*
 * Copies one symbol and finds its name, which may be "". Returns false where there is no such
 * symbol or its name lies outside the names.
 */
static inline bool elf_symbol_table_get(const struct elf_symbol_table *table, uint64_t index,
					Elf64_Sym *ret_symbol, const char **ret_name)
{
	if (index >= table->nr)
		return false;
	memcpy(ret_symbol, table->symbols + index * sizeof(*ret_symbol), sizeof(*ret_symbol));
	if (ret_symbol->st_name >= table->strings_size)
		return false;
	*ret_name = table->strings + ret_symbol->st_name;
	return true;
}

/* Translates a file offset to a link-time address; false where no segment covers it. */
bool elf_image_vaddr(const struct elf_image *image, uint64_t file_offset, uint64_t *ret_vaddr);
/* True for an address inside an executable segment. */
bool elf_image_is_code(const struct elf_image *image, uint64_t vaddr);

/*
 * Translates a link-time address of code to a file offset; *ret_left is how much of its segment
 * follows.
 */
bool elf_image_code_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset,
			   uint64_t *ret_left);

bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *id, size_t size);

#endif
