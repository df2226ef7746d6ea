/*
 * Finds the jit-PID.dump of a process. The compiler maps its first page, so that perf sees it.
 * Where the process has ended, the places that compilers write to are tried: their working
 * directory, /tmp, and .debug/jit/NAME/ under $JITDUMPDIR or $HOME, as perf's own agents do.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/untrusted/remote_read.h"
#include "symbolizer/runtime/jitdump.h"
#include "symbolizer/runtime/runtime_sources.h"
#include "core/untrusted/target_file.h"

#define MAPS_SIZE_MAX (64u << 20)

/*
 * Returns the path of the mapping whose file has that name, cut out of the text of /proc/PID/maps;
 * or NULL.
 */
static const char *mapped_path(char *maps, const char *name)
{
	size_t length = strlen(name);
	char *next;

	for (char *line = maps; line; line = next) {
		const char *path;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		path = strchr(line, '/');
		if (path && strlen(path) > length && !strcmp(path + strlen(path) - length, name) &&
		    path[strlen(path) - length - 1] == '/')
			return path;
	}
	return NULL;
}

static int open_mapped(uint32_t pid, const char *name)
{
	FILE *f = remote_open((pid_t)pid, "maps");
	struct buffer maps = { 0 };
	const char *found = NULL;
	int fd;

	if (!f)
		return -errno;
	if (!buffer_add_file(&maps, f, MAPS_SIZE_MAX)) {
		buffer_add_char(&maps, '\0');
		found = mapped_path(maps.data, name);
	}
	fd = found ? target_file_open(pid, found) : -ENOENT;
	buffer_fini(&maps);
	fclose(f);
	return fd;
}

/* The newest directory comes last in the list, because names of directories end in their dates. */
static int open_of_agent(uint32_t pid, const char *name)
{
	const char *root = getenv("JITDUMPDIR");
	char *pattern;
	glob_t found;
	int fd = -ENOENT;

	if (!root)
		root = getenv("HOME");
	if (!root)
		return -ENOENT;
	pattern = xasprintf("%s/.debug/jit/*/%s", root, name);
	if (!glob(pattern, 0, NULL, &found)) {
		fd = target_file_open_in_our_root(pid, found.gl_pathv[found.gl_pathc - 1]);
		globfree(&found);
	}
	free(pattern);
	return fd;
}

int jitdump_open(uint32_t pid)
{
	char name[64], in_tmp[80];
	int fd;

	snprintf(name, sizeof(name), "jit-%u.dump", target_file_pid_inside(pid));
	fd = open_mapped(pid, name);
	if (fd >= 0 || fd == -EPERM)
		return fd;
	snprintf(name, sizeof(name), "jit-%u.dump", pid);
	fd = target_file_open_in_our_root(pid, name);
	if (fd >= 0)
		return fd;
	snprintf(in_tmp, sizeof(in_tmp), "/tmp/%s", name);
	fd = target_file_open_in_our_root(pid, in_tmp);
	return fd >= 0 ? fd : open_of_agent(pid, name);
}

static void *source_open(const struct symbol_module *module)
{
	struct jitdump *dump;
	int fd = module->jitdump_fd, err;

	if (fd < 0)
		return NULL;
	err = jitdump_read(fd, module->addresses, module->nr_addresses, &dump);
	if (err) {
		log_error(-err, "read 'jit-%u.dump'", module->pid);
		return NULL;
	}
	if (jitdump_nr_reused(dump))
		log_debug("jit-%u.dump: %zu addresses held several functions one after the other; "
			  "they have the name of the last",
			  module->pid, jitdump_nr_reused(dump));
	return dump;
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	const struct jitdump_code *code = jitdump_lookup(state, address);
	struct symbol_frame *frame;

	if (!code)
		return false;
	frame = symbol_chain_add(chain);
	frame->name = code->name;
	frame->file = frame->declared_file = code->file;
	frame->line = code->line;
	return true;
}

static void source_close(void *state)
{
	jitdump_free(state);
}

const struct symbol_source jitdump_source = {
	.name = "jitdump",
	.kinds = 1u << MODULE_JIT,
	.open = source_open,
	.lookup = source_lookup,
	.close = source_close,
};
