/*
 * Opens the ELF image of a module of the profile. A wrong file gives wrong names, which is worse
 * than none: a file that was not kept open since it was mapped must prove to be the one that was
 * sampled.
 */
#include "symbolizer/symbol_module.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/safe_open.h"
#include "symbolizer/lookup/debug_file.h"

static int open_by_path(const struct profile_module *m, const char *path,
			struct elf_image **ret_image)
{
	struct elf_image *image;
	struct stat st;
	int fd = safe_open(path, SAFE_OPEN_ELF_MAX), err;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	err = elf_image_open(fd, &image);
	if (err)
		return err;
	if (m->build_id_size ? !elf_image_has_build_id(image, m->build_id, m->build_id_size)
			     : !m->ino || st.st_ino != m->ino || st.st_dev != m->dev) {
		log_debug("'%s' is no longer the file that was sampled", path);
		elf_image_close(image);
		return -ESTALE;
	}
	*ret_image = image;
	return 0;
}

static int open_file(const struct symbol_module *module, const struct profile *p, uint32_t id,
		     struct elf_image **ret_image)
{
	int fd = -ENOENT;

	if (module->opts->open_module)
		fd = module->opts->open_module(module->opts->context, id);
	if (fd >= 0)
		return elf_image_open(fd, ret_image);
	return open_by_path(&p->modules[id], module->path, ret_image);
}

/* The vdso has no file, but every process has the same one mapped, ours too. */
static int open_own_vdso(const struct profile_module *m, struct elf_image **ret_image)
{
	uint64_t start = 0, end = 0;
	struct elf_image *image;
	char *line = NULL;
	size_t size = 0;
	FILE *maps;
	int err;

	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return -errno;
	while (getline(&line, &size, maps) > 0) {
		if (strstr(line, "[vdso]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			break;
		start = end = 0;
	}
	free(line);
	fclose(maps);
	if (!start)
		return -ENOENT;
	err = elf_image_open_memory((const void *)(uintptr_t)start, end - start, &image);
	if (err)
		return err;
	if (m->build_id_size && !elf_image_has_build_id(image, m->build_id, m->build_id_size)) {
		elf_image_close(image);
		return -ESTALE;
	}
	*ret_image = image;
	return 0;
}

/* Opens the roots; where that of the module is gone, only names that it chose are not followed. */
static void open_roots(struct symbol_module *module, uint32_t id)
{
	const struct symbolizer_opts *opts = module->opts;

	module->own_root = safe_open_root_of(0);
	module->root = opts->open_root ? opts->open_root(opts->context, id)
				       : fcntl(module->own_root, F_DUPFD_CLOEXEC, 0);
}

int symbol_module_init(struct symbol_module *module, const struct profile *p, uint32_t id,
		       bool matters, const struct symbolizer_opts *opts)
{
	const struct profile_module *m = &p->modules[id];
	int err = 0;

	*module = (struct symbol_module){
		.opts = opts,
		.kind = m->kind,
		.path = profile_str(p, m->path),
		.pid = m->pid,
		.matters = matters,
		.root = -1,
		.own_root = -1,
	};
	if (m->kind == MODULE_ELF)
		err = open_file(module, p, id, &module->image);
	else if (m->kind == MODULE_VDSO)
		err = open_own_vdso(m, &module->image);
	if (err) {
		log_debug("no symbols of '%s': %s", module->path, strerror(-err));
		return err;
	}
	if (m->kind == MODULE_ELF) {
		open_roots(module, id);
		debug_file_find(module);
	}
	return 0;
}

void symbol_module_fini(struct symbol_module *module)
{
	elf_image_close(module->image);
	elf_image_close(module->debug);
	free(module->debug_path);
	if (module->root >= 0)
		close(module->root);
	if (module->own_root >= 0)
		close(module->own_root);
}
