/*
 * Opens the ELF image of a module of the profile. A wrong file gives wrong names, which is worse
 * than none: a file that was not kept open since it was mapped must prove to be the one that was
 * sampled.
 */
#include "symbolizer/symbol_module.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/rights/safe_open.h"
#include "symbolizer/runtime/jitdump.h"
#include "symbolizer/lookup/debug_file.h"
#include "symbolizer/runtime/perf_map.h"

int symbol_module_open(const struct profile *p, uint32_t id, const struct symbolizer_opts *opts,
		       bool *ret_is_kept)
{
	int fd = opts->open_module ? opts->open_module(opts->context, id) : -ENOENT;

	*ret_is_kept = fd >= 0;
	return fd >= 0 ? fd : safe_open(profile_str(p, p->modules[id].path), SAFE_OPEN_ELF_MAX);
}

/*
 * Some file systems show the device 0:0 in /proc/PID/maps, which imported files copy; the path and
 * the inode have to do then.
 */
static bool is_same_file(const struct profile_module *m, const struct stat *st)
{
	return m->ino && st->st_ino == m->ino && (!m->dev || st->st_dev == m->dev);
}

/* Takes over fd. A file that was not kept open must be the one that was sampled. */
static int open_image(const struct profile_module *m, const char *path, int fd, bool is_kept,
		      struct elf_image **ret_image)
{
	struct elf_image *image;
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	err = elf_image_open(fd, &image);
	if (err)
		return err;
	if (!is_kept &&
	    (m->build_id_size ? !elf_image_has_build_id(image, m->build_id, m->build_id_size)
			      : !is_same_file(m, &st))) {
		log_debug("'%s' is no longer the file that was sampled", path);
		elf_image_close(image);
		return -ESTALE;
	}
	*ret_image = image;
	return 0;
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

int symbol_module_root(uint32_t id, const struct symbolizer_opts *opts, size_t *ret_prefix)
{
	*ret_prefix = 0;
	return opts->open_root ? opts->open_root(opts->context, id, ret_prefix)
			       : safe_open_root_of(0);
}

static void fill(struct symbol_module *module, const struct profile *p, uint32_t id, bool matters,
		 const struct symbolizer_opts *opts)
{
	const struct profile_module *m = &p->modules[id];

	*module = (struct symbol_module){
		.opts = opts,
		.kind = m->kind,
		.path = profile_str(p, m->path),
		.pid = m->pid,
		.matters = matters,
		.root.fd = -1,
		.own_root.fd = -1,
		.jitdump_fd = -ENOENT,
		.perf_map_fd = -ENOENT,
	};
}

static int failed(const struct symbol_module *module, int err)
{
	if (err)
		log_debug("no symbols of '%s': %s", module->path, strerror(-err));
	return err;
}

int symbol_module_init(struct symbol_module *module, const struct profile *p, uint32_t id,
		       bool matters, const struct symbolizer_opts *opts)
{
	const struct profile_module *m = &p->modules[id];
	size_t prefix;
	bool is_kept;
	int fd, err = 0;

	fill(module, p, id, matters, opts);
	if (m->kind == MODULE_ELF) {
		fd = symbol_module_open(p, id, opts, &is_kept);
		err = fd < 0 ? fd : open_image(m, module->path, fd, is_kept, &module->image);
	} else if (m->kind == MODULE_VDSO) {
		err = open_own_vdso(m, &module->image);
	} else if (m->kind == MODULE_JIT) {
		module->jitdump_fd = jitdump_open(m->pid);
		module->perf_map_fd = perf_map_open(m->pid);
	}
	if (!err && m->kind == MODULE_ELF) {
		/* Where the module's root is gone, only names that it chose are not followed. */
		module->own_root.fd = safe_open_root_of(0);
		module->root.fd = symbol_module_root(id, opts, &prefix);
		module->path_in_root = module->path + prefix;
		debug_file_find(module);
	}
	return failed(module, err);
}

int symbol_module_init_handed(struct symbol_module *module, const struct profile *p, bool matters,
			      const struct symbolizer_opts *opts, const struct handed_files *files)
{
	const struct profile_module *m = &p->modules[files->module];
	int err = 0;

	fill(module, p, files->module, matters, opts);
	module->root.broker = module->own_root.broker = files->broker;
	module->own_root.is_own = true;
	module->path_in_root = module->path + files->prefix;
	if (m->kind == MODULE_JIT) {
		module->jitdump_fd = files->fds[0];
		module->perf_map_fd = files->fds[1];
	} else {
		err = open_image(m, module->path, files->fds[0], files->is_kept, &module->image);
	}
	if (!err && m->kind == MODULE_ELF)
		debug_file_find(module);
	return failed(module, err);
}

void symbol_module_fini(struct symbol_module *module)
{
	debug_file_warn(module->image, module->path);
	debug_file_warn(module->debug, module->debug_path);
	elf_image_close(module->image);
	elf_image_close(module->debug);
	free(module->debug_path);
	if (module->root.fd >= 0)
		close(module->root.fd);
	if (module->own_root.fd >= 0)
		close(module->own_root.fd);
}
