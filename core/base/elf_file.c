/*
 * Sections are copied with pread() when they are first asked for, and compressed ones inflated.
 *
 * Why not libelf: its read mode copies too, but cannot inflate zstd sections (elfutils 0.188), and
 * its mmap mode crashes when the file is truncated. sprof needs only a small part of ELF.
 */
#include "core/base/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "core/base/alloc.h"
#include "core/base/memory_limit.h"

#define SECTION_SIZE_MAX (4ull << 30) /* bytes, decompressed */
#define TABLE_SIZE_MAX (512u << 20)   /* bytes; browsers reach 200 MiB */
#define NAMES_SIZE_MAX (16ull << 20)
#define COMPRESS_RATIO_MAX 32 /* DWARF reaches 5; a higher ratio is a decompression bomb */
#define LOADED_RATIO_MAX 64 /* of all sections to the file; sections may overlap, files be sparse */
#define EXPANDED_MIN (1u << 20) /* bytes that any section may expand to */
#define LOADED_MIN (16u << 20)	/* bytes that any file may take */

/* Returns whether `size` more bytes of a section may be loaded. */
static bool may_load(struct elf_image *image, const struct elf_section *s, uint64_t size)
{
	uint64_t sum = image->loaded_bytes + size;

	if (size > SECTION_SIZE_MAX)
		sum = UINT64_MAX;
	if (sum <= LOADED_MIN)
		return true;
	if (!image->loaded_max) {
		image->loaded_max = memory_limit_expanded(image->stored_bytes, LOADED_RATIO_MAX);
		if (image->loaded_max < LOADED_MIN)
			image->loaded_max = LOADED_MIN;
	}
	if (sum <= image->loaded_max)
		return true;
	image->refused = (struct elf_refusal){ s->name, size, image->loaded_max };
	return false;
}

/* Copies a part of the file and adds a NUL. Returns NULL if that fails. */
static uint8_t *image_copy(const struct elf_image *image, uint64_t offset, uint64_t size)
{
	uint8_t *copy;

	if (offset > image->source.size || size > image->source.size - offset)
		return NULL;
	/* Not xmalloc(): a section may be larger than the memory that is left. */
	copy = malloc(size + 1);
	if (!copy)
		return NULL;
	if (elf_source_read(&image->source, offset, copy, size)) {
		free(copy);
		return NULL;
	}
	copy[size] = 0;
	return copy;
}

/* Sections come first: in a separate debug file the note segments point outside the file. */
static void read_build_id(struct elf_image *image, const struct elf_headers *headers)
{
	for (size_t i = 0; i < image->nr_sections && !image->build_id_size; i++) {
		const struct elf_section *s = &image->sections[i];

		if (s->type == SHT_NOTE)
			image->build_id_size = elf_build_id_read(&image->source, s->offset, s->size,
								 4, image->build_id);
	}
	if (!image->build_id_size)
		image->build_id_size =
			elf_headers_build_id(&image->source, headers, image->build_id);
}

static void take_sections(struct elf_image *image, const struct elf_headers *headers)
{
	const Elf64_Shdr *names = NULL;

	if (headers->names < headers->nr_sections &&
	    headers->sections[headers->names].sh_size <= NAMES_SIZE_MAX)
		names = &headers->sections[headers->names];
	if (names)
		image->section_names = (char *)image_copy(image, names->sh_offset, names->sh_size);
	image->sections = xcalloc(headers->nr_sections + 1, sizeof(*image->sections));
	image->nr_sections = headers->nr_sections;
	for (size_t i = 0; i < headers->nr_sections; i++) {
		struct elf_section *s = &image->sections[i];
		const Elf64_Shdr *header = &headers->sections[i];

		s->name = "";
		if (image->section_names && header->sh_name < names->sh_size)
			s->name = image->section_names + header->sh_name;
		s->type = header->sh_type;
		s->link = header->sh_link;
		s->info = header->sh_info;
		s->flags = header->sh_flags;
		s->address = header->sh_addr;
		s->offset = header->sh_offset;
		s->size = header->sh_size;
	}
}

static int read_headers(struct elf_image *image)
{
	struct elf_headers headers;
	int err = elf_headers_read(&image->source, &headers);

	if (err)
		return err;
	elf_headers_read_sections(&image->source, &headers);
	image->machine = headers.machine;
	take_sections(image, &headers);
	read_build_id(image, &headers);
	image->segments = headers.segments;
	image->nr_segments = headers.nr_segments;
	headers.segments = NULL; /* the image owns them now */
	elf_headers_fini(&headers);
	return 0;
}

static int image_finish_open(struct elf_image *image, struct elf_image **ret_image)
{
	int err = read_headers(image);

	if (err) {
		elf_image_close(image);
		return err;
	}
	*ret_image = image;
	return 0;
}

int elf_image_open_borrowed(int fd, struct elf_image **ret_image)
{
	struct elf_image *image;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -ENOEXEC;
	image = xcalloc(1, sizeof(*image));
	image->source = (struct elf_source){ .fd = fd, .size = (uint64_t)st.st_size };
	image->keeps_fd = true;
	image->stored_bytes = (uint64_t)st.st_blocks * 512;
	/* Some file systems do not count blocks, and small files may lie in their inode. */
	if (!image->stored_bytes || image->stored_bytes > image->source.size)
		image->stored_bytes = image->source.size;
	return image_finish_open(image, ret_image);
}

int elf_image_open(int fd, struct elf_image **ret_image)
{
	int err = elf_image_open_borrowed(fd, ret_image);

	if (err)
		close(fd);
	else
		(*ret_image)->keeps_fd = false;
	return err;
}

int elf_image_open_memory(const void *data, size_t size, struct elf_image **ret_image)
{
	struct elf_image *image = xcalloc(1, sizeof(*image));

	image->memory = xmalloc(size + 1);
	if (size)
		memcpy(image->memory, data, size);
	image->source = (struct elf_source){ -1, image->memory, size };
	image->stored_bytes = size;
	return image_finish_open(image, ret_image);
}

void elf_image_close(struct elf_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->nr_sections; i++)
		free(image->sections[i].data);
	free(image->sections);
	free(image->section_names);
	free(image->segments);
	free(image->memory);
	if (image->source.fd >= 0 && !image->keeps_fd)
		close(image->source.fd);
	free(image);
}

static bool name_matches(const char *have, const char *want)
{
	if (!strcmp(have, want))
		return true;
	/* ".zdebug_x" is the name that compressed sections had before SHF_COMPRESSED. */
	return !strncmp(want, ".debug_", 7) && have[0] == '.' && have[1] == 'z' &&
	       !strcmp(have + 2, want + 1);
}

struct elf_section *elf_image_section(struct elf_image *image, const char *name)
{
	for (size_t i = 0; i < image->nr_sections; i++) {
		struct elf_section *s = &image->sections[i];

		if (s->type != SHT_NOBITS && s->size && name_matches(s->name, name))
			return s;
	}
	return NULL;
}

struct elf_section *elf_image_section_at(struct elf_image *image, size_t index)
{
	return index < image->nr_sections ? &image->sections[index] : NULL;
}

static bool inflate_into(uint32_t type, uint8_t *out, uint64_t out_size, const uint8_t *in,
			 uint64_t in_size)
{
	uLongf length = out_size;

	switch (type) {
	case ELFCOMPRESS_ZLIB:
		return uncompress(out, &length, in, in_size) == Z_OK && length == out_size;
	case 2: /* ELFCOMPRESS_ZSTD, which glibc 2.36's elf.h does not know */
		return ZSTD_decompress(out, out_size, in, in_size) == out_size;
	}
	return false;
}

bool elf_section_is_compressed(const struct elf_section *section)
{
	return section->flags & SHF_COMPRESSED || !strncmp(section->name, ".zdebug", 7);
}

/* The header of compressed content: the method, and the size after decompression. */
struct compression {
	uint32_t type;
	uint64_t header_size, size;
};

/* Returns false where the header is damaged. */
static bool read_compression(const struct elf_image *image, const struct elf_section *s,
			     struct compression *ret)
{
	if (s->flags & SHF_COMPRESSED) {
		Elf64_Chdr header;

		if (s->size < sizeof(header) ||
		    elf_source_read(&image->source, s->offset, &header, sizeof(header)))
			return false;
		*ret = (struct compression){ header.ch_type, sizeof(header), header.ch_size };
	} else {
		uint8_t header[12];

		if (s->size < sizeof(header) ||
		    elf_source_read(&image->source, s->offset, header, sizeof(header)) ||
		    memcmp(header, "ZLIB", 4))
			return false;
		*ret = (struct compression){ ELFCOMPRESS_ZLIB, sizeof(header), 0 };
		for (int i = 4; i < 12; i++)
			ret->size = ret->size << 8 | header[i];
	}
	return true;
}

uint64_t elf_section_content_size(const struct elf_image *image, const struct elf_section *section)
{
	struct compression compression;

	if (section->data)
		return section->data_size;
	if (section->type == SHT_NOBITS)
		return 0;
	if (!elf_section_is_compressed(section))
		return section->size;
	if (!read_compression(image, section, &compression))
		return 0;
	return compression.size < SECTION_SIZE_MAX ? compression.size : SECTION_SIZE_MAX;
}

/* Replaces the compressed content of a section. Returns false where it is damaged. */
static bool decompress(struct elf_image *image, struct elf_section *s)
{
	struct compression compression;
	uint64_t limit;
	uint8_t *out;

	if (!read_compression(image, s, &compression))
		return false;
	limit = compression.size <= EXPANDED_MIN
			? EXPANDED_MIN
			: memory_limit_expanded(s->size, COMPRESS_RATIO_MAX);
	if (compression.size > limit) {
		image->refused = (struct elf_refusal){ s->name, compression.size, limit };
		return false;
	}
	if (!may_load(image, s, compression.size))
		return false;
	out = malloc(compression.size + 1);
	if (!out)
		return false;
	if (!inflate_into(compression.type, out, compression.size,
			  s->data + compression.header_size,
			  s->data_size - compression.header_size)) {
		free(out);
		return false;
	}
	out[compression.size] = 0;
	free(s->data);
	s->data = out;
	s->data_size = compression.size;
	return true;
}

int elf_section_read(const struct elf_image *image, const struct elf_section *section,
		     uint64_t offset, void *buf, uint64_t size)
{
	uint64_t content = section->data ? section->data_size : section->size;

	if (offset > content || size > content - offset)
		return -EIO;
	if (section->data) {
		memcpy(buf, section->data + offset, size);
		return 0;
	}
	if (section->type == SHT_NOBITS || elf_section_is_compressed(section))
		return -EINVAL;
	return elf_source_read(&image->source, section->offset + offset, buf, size);
}

static void section_drop(struct elf_image *image, struct elf_section *section)
{
	if (section->data)
		image->loaded_bytes -= section->data_size;
	free(section->data);
	section->data = NULL;
}

/* Reads the content; compressed content stays compressed. */
static void section_load(struct elf_image *image, struct elf_section *section)
{
	if (section->type == SHT_NOBITS || !may_load(image, section, section->size))
		return;
	section->data = image_copy(image, section->offset, section->size);
	section->data_size = section->size;
}

const uint8_t *elf_section_data(struct elf_image *image, struct elf_section *section,
				uint64_t *ret_size)
{
	if (!section->tried) {
		section->tried = true;
		section_load(image, section);
		if (section->data && elf_section_is_compressed(section) &&
		    !decompress(image, section)) {
			free(section->data);
			section->data = NULL;
		}
		if (section->data)
			image->loaded_bytes += section->data_size;
	}
	if (!section->data)
		return NULL;
	*ret_size = section->data_size;
	return section->data;
}

void elf_section_unload(struct elf_image *image, struct elf_section *section)
{
	section_drop(image, section);
	section->tried = false;
}

bool elf_symbol_table_read(struct elf_image *image, struct elf_section *section,
			   struct elf_symbol_table *ret_table)
{
	struct elf_section *strings = elf_image_section_at(image, section->link);
	struct elf_symbol_table t;
	uint64_t size;

	if (!strings || strings->type != SHT_STRTAB ||
	    elf_section_content_size(image, section) > TABLE_SIZE_MAX ||
	    elf_section_content_size(image, strings) > TABLE_SIZE_MAX)
		return false;
	t.symbols = elf_section_data(image, section, &size);
	t.strings = (const char *)elf_section_data(image, strings, &t.strings_size);
	if (!t.symbols || !t.strings)
		return false;
	t.nr = size / sizeof(Elf64_Sym);
	*ret_table = t;
	return true;
}

bool elf_image_vaddr(const struct elf_image *image, uint64_t file_offset, uint64_t *ret_vaddr)
{
	bool found = false;

	/* Segments may share a page of the file; code lies in the executable one. */
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type != PT_LOAD || file_offset < s->p_offset ||
		    file_offset - s->p_offset >= s->p_filesz)
			continue;
		*ret_vaddr = s->p_vaddr + (file_offset - s->p_offset);
		found = true;
		if (s->p_flags & PF_X)
			return true;
	}
	return found;
}

bool elf_image_is_code(const struct elf_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type == PT_LOAD && s->p_flags & PF_X && vaddr >= s->p_vaddr &&
		    vaddr - s->p_vaddr < s->p_memsz)
			return true;
	}
	return false;
}

bool elf_image_code_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset,
			   uint64_t *ret_left)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) || vaddr < s->p_vaddr ||
		    vaddr - s->p_vaddr >= s->p_filesz)
			continue;
		*ret_offset = s->p_offset + (vaddr - s->p_vaddr);
		*ret_left = s->p_filesz - (vaddr - s->p_vaddr);
		return true;
	}
	return false;
}

bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *id, size_t size)
{
	return size && image->build_id_size == size && !memcmp(image->build_id, id, size);
}
