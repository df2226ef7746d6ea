/*
 * The headers of an ELF file (64-bit, little-endian): segments, sections and the build-id. Bytes
 * are read with pread() and nothing is mapped: a file that its owner truncates meanwhile gives an
 * error, where a mapping would raise SIGBUS. The file is untrusted: every offset and size is
 * checked.
 *
 * Source: System V gABI, chapters 4 and 5.
 */
#ifndef SPROF_ELF_HEADERS_H
#define SPROF_ELF_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/build_id.h"

/* e_machine of the files whose code this build can sample, and their relocations without a name. */
#if defined(__x86_64__)
#define ELF_OWN_MACHINE EM_X86_64
#define ELF_OWN_RELATIVE R_X86_64_RELATIVE
#define ELF_OWN_IRELATIVE R_X86_64_IRELATIVE
#else
#error "sprof samples x86-64 only so far"
#endif

/* Where the bytes of an ELF file come from. The descriptor or the memory is the caller's. */
struct elf_source {
	int fd;		       /* -1: the bytes are in memory */
	const uint8_t *memory; /* or NULL */
	uint64_t size;
};

/* Takes the size from the file. 0 or -errno. */
int elf_source_of_file(int fd, struct elf_source *ret_source);

/* Copies exactly `size` bytes. 0; -ERANGE where the file ends before; or the error of pread(). */
int elf_source_read(const struct elf_source *source, uint64_t offset, void *buf, uint64_t size);

struct elf_headers {
	uint16_t machine;
	uint64_t entry; /* virtual address where the program starts; 0 = none */
	Elf64_Phdr *segments;
	size_t nr_segments;
	Elf64_Shdr *sections; /* NULL until elf_headers_read_sections() */
	size_t nr_sections;
	uint64_t sections_offset;
	size_t names; /* the index of the section that holds the names */
};

/*
 * Reads the file header and the segments. 0; -ENOEXEC where the bytes are no ELF file, or a damaged
 * one; -ENOTSUP where it is an ELF file of 32 bits or of the other byte order; or the error of
 * pread().
 */
int elf_headers_read(const struct elf_source *source, struct elf_headers *ret_headers);

/*
 * Reads the section headers. A file need not have them: where they cannot be read, nr_sections is
 * 0.
 */
void elf_headers_read_sections(const struct elf_source *source, struct elf_headers *headers);

/* Returns true where section `index` has exactly that name, of at most 31 bytes. */
bool elf_headers_section_is(const struct elf_source *source, const struct elf_headers *headers,
			    size_t index, const char *name);

void elf_headers_fini(struct elf_headers *headers);

/*
 * Finds the build-id among the notes of a segment or section. Returns its size, or 0 where there is
 * none. `align` is p_align of a segment, and 4 for sections.
 */
size_t elf_build_id_read(const struct elf_source *source, uint64_t offset, uint64_t size,
			 uint64_t align, uint8_t ret_id[BUILD_ID_MAX]);

/* The same for all note segments. ret_offset: where the id lies in the file; or NULL. */
size_t elf_headers_find_build_id(const struct elf_source *source, const struct elf_headers *headers,
				 uint8_t ret_id[BUILD_ID_MAX], uint64_t *ret_offset);
size_t elf_headers_build_id(const struct elf_source *source, const struct elf_headers *headers,
			    uint8_t ret_id[BUILD_ID_MAX]);

#endif
