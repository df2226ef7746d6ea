/*
 * .eh_frame is found through the section headers, or else through PT_GNU_EH_FRAME: stripped files
 * keep their sections, packed ones lose them, and static programs of glibc have no PT_GNU_EH_FRAME.
 */
#include "sampler/unwind/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/memory_limit.h"
#include "core/sandbox/confined_headers.h"

#define MAX_EH_FRAME_SIZE (256u << 20)
#define SMALL_EH_FRAME_SIZE (4u << 20) /* for any machine */
#define MAX_SECTIONS 65536u	       /* each costs a read of its name; linked files have dozens */
#define PE_OMIT 0xff		       /* DW_EH_PE_omit */

/* Where .eh_frame is. */
struct region {
	uint64_t offset, size, vaddr;
	size_t min_fdes;
};

int unwind_image_read(const struct unwind_image *image, uint64_t offset, void *buffer, size_t size)
{
	return elf_source_read(&image->source, offset, buffer, size);
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

int unwind_image_read_at(const struct unwind_image *image, uint64_t vaddr, void *buffer,
			 size_t size)
{
	const struct unwind_segment *segment = unwind_image_segment(image, vaddr);

	if (!segment || size > segment->size - (vaddr - segment->vaddr))
		return -ENODATA;
	return unwind_image_read(image, segment->offset + (vaddr - segment->vaddr), buffer, size);
}

static void add_segment(struct unwind_image *image, const Elf64_Phdr *phdr)
{
	struct unwind_segment segment = {
		.vaddr = phdr->p_vaddr,
		.offset = phdr->p_offset,
		.size = phdr->p_filesz,
		.executable = phdr->p_flags & PF_X,
	};

	if (phdr->p_offset >= image->source.size)
		return;
	if (segment.size > image->source.size - phdr->p_offset)
		segment.size = image->source.size - phdr->p_offset;
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

/* A file without section headers still has its program headers. */
static void read_sections(struct unwind_image *image)
{
	const struct elf_headers *headers = &image->headers;

	elf_headers_read_sections(&image->source, &image->headers);
	for (size_t i = 0; i < headers->nr_sections && i < MAX_SECTIONS; i++) {
		const Elf64_Shdr *section = &headers->sections[i];

		note_symbols(image, section);
		if (!(section->sh_flags & SHF_ALLOC) || !section->sh_size ||
		    section->sh_addr + section->sh_size < section->sh_addr)
			continue;
		if (section->sh_flags & SHF_EXECINSTR)
			note_code(image, section);
		if ((section->sh_type != SHT_PROGBITS && section->sh_type != SHT_X86_64_UNWIND) ||
		    !elf_headers_section_is(&image->source, headers, i, ".eh_frame"))
			continue;
		image->eh_frame = section->sh_addr;
		image->eh_frame_end = section->sh_addr + section->sh_size;
		image->eh_frame_offset = section->sh_offset;
	}
}

static int read_headers(struct unwind_image *image)
{
	struct elf_headers *headers = &image->headers;
	int err = elf_headers_read(&image->source, headers);

	if (err)
		return err == -ENOTSUP ? -ENOEXEC : err;
	if (headers->machine != ELF_OWN_MACHINE) {
		elf_headers_fini(headers);
		return -ENOEXEC;
	}
	image->segments = xcalloc(headers->nr_segments + 1, sizeof(*image->segments));
	for (size_t i = 0; i < headers->nr_segments; i++) {
		const Elf64_Phdr *phdr = &headers->segments[i];

		if (phdr->p_type == PT_LOAD) {
			add_segment(image, phdr);
		} else if (phdr->p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = phdr->p_vaddr;
			image->eh_frame_hdr_size = phdr->p_filesz;
		}
	}
	read_sections(image);
	return 0;
}

int unwind_image_open(struct unwind_image *image, int fd)
{
	int err;

	*image = (struct unwind_image){ 0 };
	err = elf_source_of_file(fd, &image->source);
	return err ? err : read_headers(image);
}

int unwind_image_open_memory(struct unwind_image *image, const void *memory, size_t size)
{
	*image = (struct unwind_image){ .source = { .fd = -1, .memory = memory, .size = size } };
	return read_headers(image);
}

int unwind_image_open_segments(struct unwind_image *image, int fd,
			       const struct code_segment *segments, size_t nr)
{
	int err;

	*image = (struct unwind_image){ 0 };
	if (!nr)
		return -ENOEXEC;
	err = elf_source_of_file(fd, &image->source);
	if (err)
		return err;
	image->segments = xcalloc(nr, sizeof(*image->segments));
	for (size_t i = 0; i < nr; i++) {
		const Elf64_Phdr phdr = {
			.p_flags = PF_X,
			.p_vaddr = segments[i].vaddr,
			.p_offset = segments[i].offset,
			.p_filesz = segments[i].size,
		};

		add_segment(image, &phdr);
	}
	return 0;
}

void unwind_image_close(struct unwind_image *image)
{
	elf_headers_fini(&image->headers);
	free(image->segments);
	image->segments = NULL;
	image->nr_segments = 0;
}

/* The only way for static programs of glibc. */
static int find_by_section(const struct unwind_image *image, struct region *ret_region)
{
	if (image->eh_frame == image->eh_frame_end)
		return -ENODATA;
	*ret_region = (struct region){
		.offset = image->eh_frame_offset,
		.size = image->eh_frame_end - image->eh_frame,
		.vaddr = image->eh_frame,
		.min_fdes = SIZE_MAX, /* the list ends with the section */
	};
	return 0;
}

/* The way of the C++ runtime, by its search table, which does not tell the size of .eh_frame. */
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
	if (region.offset > image->source.size || region.size > image->source.size - region.offset)
		return -ENODATA;
	if (region.size > MAX_EH_FRAME_SIZE ||
	    (region.size > SMALL_EH_FRAME_SIZE && region.size > memory_available() / 16))
		return -EFBIG;
	data = malloc(region.size); /* not xmalloc(): the file chose the size */
	if (!data)
		return -ENOMEM;
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

/*
 * ---- one function, by the search table. All linkers make entries of two signed 32-bit words,
 * relative to the header: the start of a function and its FDE (LSB 5.0, "Exception Frames"). Only
 * FDEs whose addresses are relative to themselves, in 32 bits, are read here, which is what
 * compilers make for x86-64.
 */

#define PE_UDATA4 0x03
#define PE_PCREL_SDATA4 0x1b
#define PE_DATAREL_SDATA4 0x3b
#define MAX_STEPS 32 /* of the search: 2^32 functions */

struct entry {
	int32_t start, fde;
};

/* The first words of an FDE; its addresses are relative to the third. */
struct fde_words {
	uint32_t length, cie;
	int32_t start;
	uint32_t size;
};

int fde_header_open(struct fde_header *h, const struct unwind_image *image)
{
	const struct unwind_segment *segment = unwind_image_segment(image, image->eh_frame_hdr);
	struct {
		uint8_t version, frame_encoding, count_encoding, table_encoding;
		int32_t frame;
		uint32_t nr;
	} start;
	int err;

	_Static_assert(sizeof(start) == 12, "no holes");
	if (!segment || image->eh_frame_hdr_size < sizeof(start))
		return -ENODATA;
	err = unwind_image_read_at(image, image->eh_frame_hdr, &start, sizeof(start));
	if (err)
		return err;
	if (start.version != 1 || start.frame_encoding != PE_PCREL_SDATA4 ||
	    start.count_encoding != PE_UDATA4 || start.table_encoding != PE_DATAREL_SDATA4 ||
	    !start.nr ||
	    start.nr > (image->eh_frame_hdr_size - sizeof(start)) / sizeof(struct entry))
		return -ENODATA;
	*h = (struct fde_header){
		.vaddr = image->eh_frame_hdr,
		.offset = segment->offset + (image->eh_frame_hdr - segment->vaddr) + sizeof(start),
		.nr = start.nr,
	};
	return 0;
}

static bool read_entry(const struct fde_header *h, const struct unwind_image *image, uint64_t i,
		       struct entry *ret)
{
	return !unwind_image_read(image, h->offset + i * sizeof(*ret), ret, sizeof(*ret));
}

static uint64_t address(const struct fde_header *h, int32_t relative)
{
	return h->vaddr + (uint64_t)(int64_t)relative;
}

/* The last entry that begins at or before the address. */
static bool search(const struct fde_header *h, const struct unwind_image *image, uint64_t vaddr,
		   struct entry *ret)
{
	uint64_t low = 0, high = h->nr;

	if (!read_entry(h, image, 0, ret) || address(h, ret->start) > vaddr)
		return false;
	for (int i = 0; i < MAX_STEPS && high - low > 1; i++) {
		uint64_t middle = low + (high - low) / 2;
		struct entry e;

		if (!read_entry(h, image, middle, &e))
			return false;
		if (address(h, e.start) > vaddr) {
			high = middle;
			continue;
		}
		low = middle;
		*ret = e;
	}
	return true;
}

bool fde_header_find(const struct fde_header *h, const struct unwind_image *image, uint64_t vaddr,
		     uint64_t *ret_start, uint64_t *ret_end, uint64_t *ret_fde)
{
	struct fde_words words;
	struct entry e;
	uint64_t fde, start;

	if (!search(h, image, vaddr, &e))
		return false;
	fde = address(h, e.fde);
	start = address(h, e.start);
	if (unwind_image_read_at(image, fde, &words, sizeof(words)) || !words.cie ||
	    words.length == UINT32_MAX || fde + 8 + (uint64_t)(int64_t)words.start != start ||
	    vaddr - start >= words.size)
		return false;
	*ret_start = start;
	*ret_end = start + words.size;
	*ret_fde = fde;
	return true;
}
