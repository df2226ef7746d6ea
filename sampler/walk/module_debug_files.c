/*
 * The names come from an untrusted file, or from a child that one has taken over: only ELF files
 * are opened, in directories that the names cannot leave.
 */
#include "sampler/walk/module_debug_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rights/debug_paths.h"
#include "core/rights/debug_trust.h"
#include "core/rights/safe_open.h"
#include "sampler/target/open_mapped.h"

enum { BY_BUILD_ID, BY_BUILD_ID_IN_OURS, BY_LINK, NR_CANDIDATES = BY_LINK + DEBUG_LINK_NR_PLACES };

/* The path of a candidate, to be freed; NULL: it has none. */
static char *path_of(const struct module_debug_files *files, const struct debug_names *names,
		     unsigned int candidate)
{
	const char *path = files->path;

	if (candidate < BY_LINK)
		return debug_path_by_build_id(DEBUG_PATHS_DIR, names->build_id,
					      names->build_id_size);
	if (!path || !names->link[0] || strchr(names->link, '/'))
		return NULL;
	if (!files->root.pid)
		path += files->root.prefix;
	return debug_path_by_link(DEBUG_PATHS_DIR, path, names->link, candidate - BY_LINK);
}

/* Takes over fd, or an error. */
static int only_trusted(const struct module_debug_files *files, int fd)
{
	struct debug_trust trust = debug_trust_new(files->fd, -1, -1, false);

	fd = safe_open_only_elf(fd);
	if (fd < 0 || debug_trust_allows(&trust, fd))
		return fd == -ENODATA ? -ENOENT : fd;
	close(fd);
	return -EPERM;
}

static int open_candidate(struct debug_files *debug_files, const struct debug_names *names,
			  unsigned int candidate)
{
	struct module_debug_files *files = (struct module_debug_files *)debug_files;
	char *path;
	int root, fd;

	if (candidate >= NR_CANDIDATES)
		return -ENODATA;
	if (candidate >= BY_LINK)
		memcpy(files->link, names->link, sizeof(files->link));
	path = path_of(files, names, candidate);
	if (!path)
		return -ENOENT;
	root = candidate == BY_BUILD_ID_IN_OURS || !files->path
		       ? safe_open_root_of(0)
		       : mapped_root_open(&files->root, files->path);
	fd = root < 0 ? root : safe_open_in_root(root, path, SAFE_OPEN_ELF_MAX);
	if (root >= 0)
		close(root);
	free(path);
	fd = only_trusted(files, fd);
	files->by_link = files->by_link || (fd >= 0 && candidate >= BY_LINK);
	return fd;
}

void module_debug_files_init(struct module_debug_files *files, int fd,
			     const struct mapped_root *root, const char *path)
{
	*files = (struct module_debug_files){
		.files = { open_candidate },
		.root = *root,
		.path = path,
		.fd = fd,
	};
}
