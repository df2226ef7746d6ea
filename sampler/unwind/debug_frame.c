/* The section has no addresses of its own and is not mapped, so it is found by its name alone. */
#include "sampler/unwind/debug_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/debug_paths.h"
#include "core/base/elf_file.h"

#define MAX_SIZE (256u << 20) /* as of .eh_frame */
#define MAX_CANDIDATES 16

/* Opens the file of an image once more, by names of sections. */
static int open_again(const struct unwind_image *image, struct elf_image **ret_elf)
{
	const struct elf_source *source = &image->source;

	if (source->fd < 0)
		return elf_image_open_memory(source->memory, source->size, ret_elf);
	return elf_image_open_borrowed(source->fd, ret_elf);
}

static bool is_of_go(struct elf_image *elf)
{
	return elf_image_section(elf, ".gopclntab") ||
	       elf_image_section(elf, ".data.rel.ro.gopclntab");
}

static int load_from(struct elf_image *elf, struct eh_frame *ret_frame)
{
	struct elf_section *section = elf_image_section(elf, ".debug_frame");
	const uint8_t *data;
	uint8_t *copy;
	uint64_t size;

	if (!section || elf_section_content_size(elf, section) > MAX_SIZE || is_of_go(elf))
		return -ENODATA;
	data = elf_section_data(elf, section, &size);
	if (!data || !size)
		return -ENODATA;
	copy = malloc(size); /* not xmalloc(): the file chose the size */
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	*ret_frame = (struct eh_frame){
		.data = copy,
		.size = size,
		.min_fdes = SIZE_MAX, /* the list ends with the section */
		.debug_frame = true,
	};
	return 0;
}

/* Returns the checksum in .gnu_debuglink, or 0. */
static uint32_t read_names(struct elf_image *elf, struct debug_names *ret)
{
	const char *link;
	uint32_t crc;

	memset(ret, 0, sizeof(*ret));
	ret->build_id_size = (uint32_t)elf->build_id_size;
	memcpy(ret->build_id, elf->build_id, elf->build_id_size);
	if (!debug_link_read(elf, &link, &crc) || strlen(link) >= sizeof(ret->link))
		return 0;
	strcpy(ret->link, link);
	return crc;
}

static int load_from_debug_file(struct elf_image *elf, struct debug_files *files,
				struct eh_frame *ret_frame)
{
	struct debug_names names;
	uint32_t crc = read_names(elf, &names);
	int err = -ENODATA;

	if (!names.build_id_size && !names.link[0])
		return -ENODATA;
	for (unsigned int i = 0; err && i < MAX_CANDIDATES; i++) {
		int fd = files->open(files, &names, i);
		struct elf_image *debug;

		if (fd == -ENODATA)
			return -ENODATA;
		if (fd < 0 || elf_image_open(fd, &debug))
			continue;
		if (debug_file_belongs(debug, elf, crc))
			err = load_from(debug, ret_frame);
		elf_image_close(debug);
	}
	return err;
}

int debug_frame_load(const struct unwind_image *image, struct debug_files *files,
		     struct eh_frame *ret_frame)
{
	struct elf_image *elf;
	int err = open_again(image, &elf);

	if (err)
		return err;
	err = load_from(elf, ret_frame);
	if (err == -ENODATA && files && !is_of_go(elf))
		err = load_from_debug_file(elf, files, ret_frame);
	elf_image_close(elf);
	return err;
}
