/* A name in an ELF file is untrusted: it must not lead out of the directories that are searched. */
#include "core/rights/debug_paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/alloc.h"

#define LINK_SIZE_MAX 4096

char *debug_path_by_build_id(const char *debug_dir, const uint8_t *id, size_t size)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";

	if (size < 2 || size > BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return xasprintf("%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2);
}

bool debug_link_read(struct elf_image *image, const char **ret_name, uint32_t *ret_crc)
{
	struct elf_section *section = elf_image_section(image, ".gnu_debuglink");
	const uint8_t *data;
	uint64_t size;

	if (!section || section->size > LINK_SIZE_MAX)
		return false;
	data = elf_section_data(image, section, &size);
	if (!data || size < 5 || strnlen((const char *)data, size - 4) == size - 4)
		return false;
	memcpy(ret_crc, data + size - 4, sizeof(*ret_crc));
	*ret_name = (const char *)data;
	return **ret_name && !strchr(*ret_name, '/');
}

char *debug_path_by_link(const char *debug_dir, const char *path, const char *name,
			 enum debug_link_place place)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0;

	if (path[0] != '/' || length >= PATH_MAX)
		return NULL;
	switch (place) {
	case DEBUG_LINK_BESIDE: return xasprintf("%.*s/%s", length, path, name);
	case DEBUG_LINK_BELOW: return xasprintf("%.*s/.debug/%s", length, path, name);
	case DEBUG_LINK_DIR: return xasprintf("%s%.*s/%s", debug_dir, length, path, name);
	default: return NULL;
	}
}

/* Compares the CRC of the whole file with that of .gnu_debuglink. */
static bool has_crc(const struct elf_image *image, uint32_t want)
{
	uint8_t buffer[65536];
	off_t at = 0;
	uLong crc = crc32(0, NULL, 0);

	for (;;) {
		ssize_t n = pread(image->source.fd, buffer, sizeof(buffer), at);

		if (n <= 0)
			return n == 0 && crc == want;
		crc = crc32(crc, buffer, (uInt)n);
		at += n;
	}
}

bool debug_file_belongs(const struct elf_image *debug, const struct elf_image *image, uint32_t crc)
{
	if (debug->build_id_size && image->build_id_size)
		return elf_image_has_build_id(debug, image->build_id, image->build_id_size);
	return has_crc(debug, crc);
}
