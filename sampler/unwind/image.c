#include "sampler/unwind/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"

#define MAX_EH_FRAME_SIZE (256u << 20)
#define PE_OMIT 0xff /* DW_EH_PE_omit */

/* Where .eh_frame is. */
struct region {
	uint64_t offset, size, vaddr;
	size_t min_fdes;
};

int unwind_image_read(const struct unwind_image *image, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;

	if (offset > image->size || size > image->size - offset)
		return -ERANGE;
	if (image->memory) {
		memcpy(buffer, image->memory + offset, size);
		return 0;
	}
	while (done < size) {
		ssize_t nr = pread(image->fd, (char *)buffer + done, size - done,
				   (off_t)(offset + done));

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -errno;
		if (nr == 0) /* it was longer a moment ago */
			return -ERANGE;
		done += (size_t)nr;
	}
	return 0;
}

const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct unwind_segment *segment = &image->segments[i];

		if (vaddr - segment->vaddr < segment->size)
			return segment;
	}
	return NULL;
}

static void add_segment(struct unwind_image *image, const Elf64_Phdr *phdr)
{
	struct unwind_segment segment = {
		.vaddr = phdr->p_vaddr,
		.offset = phdr->p_offset,
		.size = phdr->p_filesz,
		.executable = phdr->p_flags & PF_X,
	};

	if (phdr->p_offset >= image->size)
		return;
	if (segment.size > image->size - phdr->p_offset)
		segment.size = image->size - phdr->p_offset;
	if (segment.vaddr + segment.size >= segment.vaddr && segment.size)
		image->segments[image->nr_segments++] = segment;
}

static void note_code(struct unwind_image *image, const Elf64_Shdr *section)
{
	uint64_t end = section->sh_addr + section->sh_size;

	if (image->code_start == image->code_end) {
		image->code_start = section->sh_addr;
		image->code_end = end;
	}
	if (section->sh_addr < image->code_start)
		image->code_start = section->sh_addr;
	if (end > image->code_end)
		image->code_end = end;
}

static void note_symbols(struct unwind_image *image, const Elf64_Shdr *section)
{
	const struct unwind_symbols symbols = { section->sh_offset, section->sh_size };

	if (section->sh_type == SHT_SYMTAB)
		image->symtab = symbols;
	else if (section->sh_type == SHT_DYNSYM)
		image->dynsym = symbols;
}

/* Whatever the section headers say; a file that lost them still has its program headers. */
static void read_sections(struct unwind_image *image, const Elf64_Ehdr *ehdr)
{
	static const char eh_frame[] = ".eh_frame";
	size_t nr = ehdr->e_shentsize == sizeof(Elf64_Shdr) ? ehdr->e_shnum : 0;
	Elf64_Shdr *sections = xmalloc(nr * sizeof(*sections) + 1);

	if (ehdr->e_shstrndx >= nr ||
	    unwind_image_read(image, ehdr->e_shoff, sections, nr * sizeof(*sections)))
		nr = 0;
	for (size_t i = 0; i < nr; i++) {
		const Elf64_Shdr *section = &sections[i];
		uint64_t name = sections[ehdr->e_shstrndx].sh_offset + section->sh_name;
		char found[sizeof(eh_frame)];

		note_symbols(image, section);
		if (!(section->sh_flags & SHF_ALLOC) || !section->sh_size ||
		    section->sh_addr + section->sh_size < section->sh_addr)
			continue;
		if (section->sh_flags & SHF_EXECINSTR)
			note_code(image, section);
		if ((section->sh_type != SHT_PROGBITS && section->sh_type != SHT_X86_64_UNWIND) ||
		    unwind_image_read(image, name, found, sizeof(found)) ||
		    memcmp(found, eh_frame, sizeof(eh_frame)))
			continue;
		image->eh_frame = section->sh_addr;
		image->eh_frame_end = section->sh_addr + section->sh_size;
		image->eh_frame_offset = section->sh_offset;
	}
	free(sections);
}

static int read_headers(struct unwind_image *image)
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs;
	int err = unwind_image_read(image, 0, &ehdr, sizeof(ehdr));

	if (err)
		return err == -ERANGE ? -ENOEXEC : err;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB || ehdr.e_machine != EM_X86_64 ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	phdrs = xmalloc((size_t)ehdr.e_phnum * sizeof(*phdrs) + 1);
	err = unwind_image_read(image, ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(*phdrs));
	if (err) {
		free(phdrs);
		return err == -ERANGE ? -ENOEXEC : err;
	}
	image->segments = xcalloc((size_t)ehdr.e_phnum + 1, sizeof(*image->segments));
	for (size_t i = 0; i < ehdr.e_phnum; i++) {
		if (phdrs[i].p_type == PT_LOAD) {
			add_segment(image, &phdrs[i]);
		} else if (phdrs[i].p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = phdrs[i].p_vaddr;
			image->eh_frame_hdr_size = phdrs[i].p_filesz;
		}
	}
	free(phdrs);
	image->entry = ehdr.e_entry;
	read_sections(image, &ehdr);
	return 0;
}

int unwind_image_open(struct unwind_image *image, int fd)
{
	struct stat st;

	*image = (struct unwind_image){ .fd = fd };
	if (fstat(fd, &st) < 0)
		return -errno;
	image->size = (uint64_t)st.st_size;
	return read_headers(image);
}

int unwind_image_open_memory(struct unwind_image *image, const void *memory, size_t size)
{
	*image = (struct unwind_image){ .fd = -1, .memory = memory, .size = size };
	return read_headers(image);
}

void unwind_image_close(struct unwind_image *image)
{
	free(image->segments);
	image->segments = NULL;
	image->nr_segments = 0;
}

/* Static programs of glibc have no other way to it than their section headers. */
static int find_by_section(const struct unwind_image *image, struct region *ret_region)
{
	if (image->eh_frame == image->eh_frame_end)
		return -ENODATA;
	*ret_region = (struct region){
		.offset = image->eh_frame_offset,
		.size = image->eh_frame_end - image->eh_frame,
		.vaddr = image->eh_frame,
		.min_fdes = SIZE_MAX, /* the section says where the list ends */
	};
	return 0;
}

/* By the search table that the C++ runtime uses. It does not say how long .eh_frame is. */
static int find_by_header(const struct unwind_image *image, struct region *ret_region)
{
	const struct unwind_segment *segment = unwind_image_segment(image, image->eh_frame_hdr);
	uint8_t header[4 + 2 * 10] = { 0 };
	struct eh_frame frame = { .data = header,
				  .size = sizeof(header),
				  .vaddr = image->eh_frame_hdr };
	struct cursor bytes = { header + 4, header + sizeof(header), false };
	uint64_t vaddr, count = 0;
	int err;

	if (!segment || image->eh_frame_hdr_size < 12)
		return -ENODATA;
	err = unwind_image_read(image, segment->offset + (image->eh_frame_hdr - segment->vaddr),
				header, 12);
	if (err)
		return err == -ERANGE ? -ENODATA : err;
	vaddr = eh_read_pointer(&frame, &bytes, header[1]);
	if (header[2] != PE_OMIT)
		count = eh_read_pointer(&frame, &bytes, header[2]);
	segment = unwind_image_segment(image, vaddr);
	if (header[0] != 1 || bytes.bad || !segment)
		return -ENODATA;
	*ret_region = (struct region){
		.offset = segment->offset + (vaddr - segment->vaddr),
		.size = segment->size - (vaddr - segment->vaddr),
		.vaddr = vaddr,
		.min_fdes = count,
	};
	return 0;
}

int unwind_image_load_eh_frame(const struct unwind_image *image, struct eh_frame *ret_frame)
{
	struct region region = { 0 };
	uint8_t *data;
	int err = find_by_section(image, &region);

	if (err == -ENODATA)
		err = find_by_header(image, &region);
	if (err)
		return err;
	if (region.offset > image->size || region.size > image->size - region.offset)
		return -ENODATA;
	if (region.size > MAX_EH_FRAME_SIZE)
		return -EFBIG;
	data = xmalloc(region.size);
	err = unwind_image_read(image, region.offset, data, region.size);
	if (err) {
		free(data);
		return err;
	}
	*ret_frame = (struct eh_frame){
		.data = data,
		.size = region.size,
		.vaddr = region.vaddr,
		.min_fdes = region.min_fdes,
	};
	return 0;
}
