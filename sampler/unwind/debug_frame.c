/* The section has no addresses of its own and is not mapped, so it is found by its name alone. */
#include "sampler/unwind/debug_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/elf_file.h"

#define MAX_SIZE (256u << 20) /* as of .eh_frame */

/* Opens the file of an image once more, by names of sections. */
static int open_again(const struct unwind_image *image, struct elf_image **ret_elf)
{
	const struct elf_source *source = &image->source;
	int fd;

	if (source->fd < 0)
		return elf_image_open_memory(source->memory, source->size, ret_elf);
	fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : elf_image_open(fd, ret_elf);
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

int debug_frame_load(const struct unwind_image *image, struct eh_frame *ret_frame)
{
	struct elf_image *elf;
	int err = open_again(image, &elf);

	if (err)
		return err;
	err = load_from(elf, ret_frame);
	elf_image_close(elf);
	return err;
}
