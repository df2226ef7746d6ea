/*
 * One read for the file header, one for all segments, one for all sections, and one per notes
 * segment, so that a file costs a handful of system calls however large it is.
 */
#include "core/base/elf_headers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* Linux runs no program whose program headers are larger (load_elf_phdrs() in fs/binfmt_elf.c). */
#define SEGMENTS_MAX (65536 / sizeof(Elf64_Phdr))
#define SECTIONS_MAX (1u << 20) /* a sparse file may promise more */
#define NOTES_SIZE_MAX 65536
#define NAME_MAX_SIZE 32

int elf_source_of_file(int fd, struct elf_source *ret_source)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*ret_source = (struct elf_source){ .fd = fd, .size = (uint64_t)st.st_size };
	return 0;
}

int elf_source_read(const struct elf_source *source, uint64_t offset, void *buf, uint64_t size)
{
	uint64_t done = 0;

	if (offset > source->size || size > source->size - offset)
		return -ERANGE;
	if (source->memory) {
		memcpy(buf, source->memory + offset, size);
		return 0;
	}
	while (done < size) {
		ssize_t n =
			pread(source->fd, (char *)buf + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) /* the file has been truncated */
			return -ERANGE;
		done += (uint64_t)n;
	}
	return 0;
}

/* Like elf_source_read(), but bytes that are missing mean that this is no ELF file. */
static int read_required(const struct elf_source *source, uint64_t offset, void *buf, uint64_t size)
{
	int err = elf_source_read(source, offset, buf, size);

	return err == -ERANGE ? -ENOEXEC : err;
}

static int read_segments(const struct elf_source *source, const Elf64_Ehdr *header,
			 struct elf_headers *h)
{
	uint64_t size = header->e_phnum * sizeof(Elf64_Phdr);
	int err;

	if (!header->e_phnum)
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX)
		return -ENOEXEC;
	h->segments = xmalloc(size);
	err = read_required(source, header->e_phoff, h->segments, size);
	if (err) {
		free(h->segments);
		return err;
	}
	h->nr_segments = header->e_phnum;
	return 0;
}

/* Counts that do not fit 16 bits are in the first section header. */
static void find_sections(const struct elf_source *source, const Elf64_Ehdr *header,
			  struct elf_headers *h)
{
	Elf64_Shdr first;

	if (!header->e_shoff || header->e_shentsize != sizeof(Elf64_Shdr))
		return;
	h->sections_offset = header->e_shoff;
	h->nr_sections = header->e_shnum;
	h->names = header->e_shstrndx;
	if (header->e_shnum && header->e_shstrndx != SHN_XINDEX)
		return;
	if (elf_source_read(source, header->e_shoff, &first, sizeof(first))) {
		h->nr_sections = 0;
		return;
	}
	if (!header->e_shnum)
		h->nr_sections = first.sh_size;
	if (header->e_shstrndx == SHN_XINDEX)
		h->names = first.sh_link;
}

int elf_headers_read(const struct elf_source *source, struct elf_headers *ret_headers)
{
	struct elf_headers h = { 0 };
	Elf64_Ehdr header;
	int err = read_required(source, 0, &header, sizeof(header));

	if (err)
		return err;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	h.machine = header.e_machine;
	h.entry = header.e_entry;
	err = read_segments(source, &header, &h);
	if (err)
		return err;
	find_sections(source, &header, &h);
	*ret_headers = h;
	return 0;
}

void elf_headers_read_sections(const struct elf_source *source, struct elf_headers *h)
{
	uint64_t size = h->nr_sections * sizeof(Elf64_Shdr);

	if (h->nr_sections && h->nr_sections <= SECTIONS_MAX && size <= source->size) {
		h->sections = malloc(size); /* not xmalloc: the file chose the size */
		if (h->sections && !elf_source_read(source, h->sections_offset, h->sections, size))
			return;
		free(h->sections);
		h->sections = NULL;
	}
	h->nr_sections = 0;
}

bool elf_headers_section_is(const struct elf_source *source, const struct elf_headers *h,
			    size_t index, const char *name)
{
	size_t size = strlen(name) + 1;
	char found[NAME_MAX_SIZE];

	return size <= sizeof(found) && index < h->nr_sections && h->names < h->nr_sections &&
	       !elf_source_read(source,
				h->sections[h->names].sh_offset + h->sections[index].sh_name, found,
				size) &&
	       !memcmp(found, name, size);
}

void elf_headers_fini(struct elf_headers *h)
{
	free(h->segments);
	free(h->sections);
	*h = (struct elf_headers){ 0 };
}

static size_t find_build_id(const uint8_t *notes, uint64_t size, uint64_t align, uint8_t *ret_id,
			    uint64_t *ret_at)
{
	uint64_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, desc, end;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = (name + note.n_namesz + align - 1) & ~(align - 1);
		end = desc + note.n_descsz;
		if (end > size)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz > 0 &&
		    note.n_descsz <= BUILD_ID_MAX) {
			memcpy(ret_id, notes + desc, note.n_descsz);
			*ret_at = desc;
			return note.n_descsz;
		}
		at = (end + align - 1) & ~(align - 1);
		if (at > size)
			return 0;
	}
	return 0;
}

static size_t read_build_id(const struct elf_source *source, uint64_t offset, uint64_t size,
			    uint64_t align, uint8_t *ret_id, uint64_t *ret_at)
{
	uint8_t *notes;
	size_t found = 0;

	if (size > NOTES_SIZE_MAX)
		return 0;
	notes = xmalloc(size + 1);
	if (!elf_source_read(source, offset, notes, size))
		found = find_build_id(notes, size, align == 8 ? 8 : 4, ret_id, ret_at);
	free(notes);
	return found;
}

size_t elf_build_id_read(const struct elf_source *source, uint64_t offset, uint64_t size,
			 uint64_t align, uint8_t ret_id[BUILD_ID_MAX])
{
	uint64_t at;

	return read_build_id(source, offset, size, align, ret_id, &at);
}

size_t elf_headers_find_build_id(const struct elf_source *source, const struct elf_headers *h,
				 uint8_t ret_id[BUILD_ID_MAX], uint64_t *ret_offset)
{
	size_t found = 0;

	for (size_t i = 0; i < h->nr_segments && !found; i++) {
		const Elf64_Phdr *s = &h->segments[i];
		uint64_t at = 0;

		if (s->p_type == PT_NOTE)
			found = read_build_id(source, s->p_offset, s->p_filesz, s->p_align, ret_id,
					      &at);
		if (found && ret_offset)
			*ret_offset = s->p_offset + at;
	}
	return found;
}

size_t elf_headers_build_id(const struct elf_source *source, const struct elf_headers *h,
			    uint8_t ret_id[BUILD_ID_MAX])
{
	return elf_headers_find_build_id(source, h, ret_id, NULL);
}
