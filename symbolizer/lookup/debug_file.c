/*
 * Tries the paths of core/base/debug_paths.h, then servers. A candidate must have the build-id of
 * the binary or, where one of the two has none, the CRC that .gnu_debuglink gives.
 */
#include "symbolizer/lookup/debug_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/debug_paths.h"
#include "core/base/log.h"
#include "core/rights/safe_open.h"
#include "symbolizer/lookup/debuginfod.h"

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
	char *path = debug_path_by_build_id(debug_dir, id, size);
	struct elf_image *image;

	if (!path)
		return NULL;
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
		image = find_in(&module->root, DEBUG_PATHS_DIR, id, size, ret_path);
	if (image)
		return image;
	*ret_root = &module->own_root;
	return find_in(&module->own_root, debug_dir ? debug_dir : DEBUG_PATHS_DIR, id, size,
		       ret_path);
}

/* Returns the path that `name` means in the file at `path`; the debug directory may have moved. */
static char *alt_path(const char *debug_dir, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t length = strlen(DEBUG_PATHS_DIR);

	if (debug_dir && !strncmp(name, DEBUG_PATHS_DIR "/", length + 1))
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

/* Takes over path, which may be NULL. */
static bool try_path(struct symbol_module *module, const struct debug_root *root, char *path,
		     uint32_t crc)
{
	struct elf_image *debug = path ? debug_file_open(root, path) : NULL;

	/* A binary may refer to itself, which adds nothing. */
	if (debug && elf_image_section(debug, ".debug_info") &&
	    debug_file_belongs(debug, module->image, crc)) {
		module->debug = debug;
		module->debug_path = path;
		module->debug_root = root;
		return true;
	}
	elf_image_close(debug);
	free(path);
	return false;
}

static void follow_link(struct symbol_module *module)
{
	const char *debug_dir = module->opts->debug_dir ? module->opts->debug_dir : DEBUG_PATHS_DIR;
	const struct debug_root *root = &module->root;
	const char *name;
	uint32_t crc;

	if (!debug_link_read(module->image, &name, &crc))
		return;
	for (enum debug_link_place place = 0; place < DEBUG_LINK_NR_PLACES; place++) {
		if (place == DEBUG_LINK_DIR && module->opts->debug_dir)
			root = &module->own_root;
		if (try_path(module, root,
			     debug_path_by_link(debug_dir, module->path_in_root, name, place), crc))
			return;
	}
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
