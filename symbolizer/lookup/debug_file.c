/*
 * Finds separate debug files as gdb does: by build-id, then by the name in .gnu_debuglink beside
 * the binary, in .debug/ there, and under the debug directory. A candidate must have the build-id
 * of the binary or, where one of the two has none, the CRC that .gnu_debuglink gives.
 */
#include "symbolizer/lookup/debug_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/rights/safe_open.h"
#include "symbolizer/lookup/debuginfod.h"

#define DEBUG_DIR "/usr/lib/debug"
#define LINK_SIZE_MAX 4096

struct elf_image *debug_file_open(const struct debug_root *root, const char *path)
{
	struct elf_image *image = NULL;
	int fd;

	if (path[0] != '/' || (!root->broker && root->fd < 0))
		return NULL;
	fd = root->broker ? root->broker->open(root->broker, root, path)
			  : safe_open_in_root(root->fd, path, SAFE_OPEN_ELF_MAX);
	if (fd < 0 || elf_image_open(fd, &image))
		return NULL;
	return image;
}

void debug_file_warn(const struct elf_image *image, const char *path)
{
	const struct elf_refusal *refused = image ? &image->refused : NULL;

	if (refused && refused->size)
		log_warning("'%s' of %.1f MB: names are missing: its section '%s' would take %.0f "
			    "MB of memory, and the limit for a file of that size here is %.0f MB",
			    path, (double)image->stored_bytes / 1e6, refused->section,
			    (double)refused->size / 1e6, (double)refused->limit / 1e6);
}

/*
 * Opens the debug file with that build-id under a directory; NULL where there is none. *ret_path is
 * to free().
 */
static struct elf_image *find_in(const struct debug_root *root, const char *debug_dir,
				 const uint8_t *id, size_t size, char **ret_path)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";
	struct elf_image *image;
	char *path;

	if (size < 2 || size > BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	path = xasprintf("%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2);
	image = debug_file_open(root, path);
	if (image && !elf_image_has_build_id(image, id, size)) {
		elf_image_close(image);
		image = NULL;
	}
	if (image)
		*ret_path = path;
	else
		free(path);
	return image;
}

/* Asks the debug directory of the module's root, then ours. *ret_path is to free(). */
static struct elf_image *find_by_build_id(const struct symbol_module *module, const uint8_t *id,
					  size_t size, const struct debug_root **ret_root,
					  char **ret_path)
{
	const char *debug_dir = module->opts->debug_dir;
	struct elf_image *image = NULL;

	*ret_root = &module->root;
	if (!debug_dir)
		image = find_in(&module->root, DEBUG_DIR, id, size, ret_path);
	if (image)
		return image;
	*ret_root = &module->own_root;
	return find_in(&module->own_root, debug_dir ? debug_dir : DEBUG_DIR, id, size, ret_path);
}

/* Returns the path that `name` means in the file at `path`; the debug directory may have moved. */
static char *alt_path(const char *debug_dir, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t length = strlen(DEBUG_DIR);

	if (debug_dir && !strncmp(name, DEBUG_DIR "/", length + 1))
		return xasprintf("%s%s", debug_dir, name + length);
	if (name[0] == '/' || !slash)
		return xstrdup(name);
	return xasprintf("%.*s/%s", (int)(slash - path), path, name);
}

/* Asks servers; a file that they send is accepted only with that build-id. */
static struct elf_image *fetch(const struct symbol_module *module, const uint8_t *id, size_t size)
{
	struct elf_image *image = NULL;
	int fd;

	if ((!module->root.broker && !module->opts->debuginfod) || !module->matters)
		return NULL;
	fd = module->root.broker
		     ? module->root.broker->fetch(module->root.broker, id, size)
		     : debuginfod_fetch(module->opts->debuginfod, module->path, id, size);
	if (fd < 0 || elf_image_open(fd, &image))
		return NULL;
	if (elf_image_has_build_id(image, id, size))
		return image;
	log_warning("'%s': a server sent another file than its debug file", module->path);
	elf_image_close(image);
	return NULL;
}

struct elf_image *debug_file_alt(const struct symbol_module *module, const char *name,
				 const uint8_t *id, size_t id_size)
{
	const struct debug_root *root = module->debug ? module->debug_root : &module->root;
	char *full = alt_path(module->opts->debug_dir,
			      module->debug ? module->debug_path : module->path_in_root, name);
	struct elf_image *image = debug_file_open(root, full);
	char *found;

	free(full);
	if (image && elf_image_has_build_id(image, id, id_size))
		return image;
	elf_image_close(image);
	image = find_by_build_id(module, id, id_size, &root, &found);
	if (image)
		free(found);
	return image ? image : fetch(module, id, id_size);
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

static bool belongs_to(const struct elf_image *debug, const struct elf_image *image, uint32_t crc)
{
	if (debug->build_id_size && image->build_id_size)
		return elf_image_has_build_id(debug, image->build_id, image->build_id_size);
	return has_crc(debug, crc);
}

/* Takes over path. */
static bool try_path(struct symbol_module *module, const struct debug_root *root, char *path,
		     uint32_t crc)
{
	struct elf_image *debug = debug_file_open(root, path);

	/* A binary may refer to itself, which adds nothing. */
	if (debug && elf_image_section(debug, ".debug_info") &&
	    belongs_to(debug, module->image, crc)) {
		module->debug = debug;
		module->debug_path = path;
		module->debug_root = root;
		return true;
	}
	elf_image_close(debug);
	free(path);
	return false;
}

static void find_by_link(struct symbol_module *module, const char *name, uint32_t crc)
{
	const char *debug_dir = module->opts->debug_dir ? module->opts->debug_dir : DEBUG_DIR;
	const char *path = module->path_in_root;
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0;

	/* The name comes from an untrusted file: it must not leave these directories. */
	if (!name[0] || strchr(name, '/') || path[0] != '/' || length >= PATH_MAX)
		return;
	if (try_path(module, &module->root, xasprintf("%.*s/%s", length, path, name), crc))
		return;
	if (try_path(module, &module->root, xasprintf("%.*s/.debug/%s", length, path, name), crc))
		return;
	try_path(module, module->opts->debug_dir ? &module->own_root : &module->root,
		 xasprintf("%s%.*s/%s", debug_dir, length, path, name), crc);
}

static void follow_link(struct symbol_module *module)
{
	struct elf_section *section = elf_image_section(module->image, ".gnu_debuglink");
	const uint8_t *data;
	uint64_t size;
	uint32_t crc;

	if (!section || section->size > LINK_SIZE_MAX)
		return;
	data = elf_section_data(module->image, section, &size);
	if (!data || size < 5 || strnlen((const char *)data, size - 4) == size - 4)
		return;
	memcpy(&crc, data + size - 4, sizeof(crc));
	find_by_link(module, (const char *)data, crc);
}

void debug_file_find(struct symbol_module *module)
{
	struct elf_image *image = module->image;

	if (elf_image_section(image, ".debug_info"))
		return;
	module->debug = find_by_build_id(module, image->build_id, image->build_id_size,
					 &module->debug_root, &module->debug_path);
	if (!module->debug)
		follow_link(module);
	if (!module->debug) {
		module->debug = fetch(module, image->build_id, image->build_id_size);
		module->debug_path = module->debug ? xstrdup(module->path_in_root) : NULL;
		module->debug_root = &module->root;
	}
	if (module->debug)
		log_debug("'%s': debug file '%s'", module->path, module->debug_path);
}
