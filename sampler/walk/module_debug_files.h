/*
 * Opens the candidates for the separate debug file of a mapped file: by build-id in the debug
 * directory of the root where it was mapped and in ours, then by .gnu_debuglink in that root.
 */
#ifndef SPROF_MODULE_DEBUG_FILES_H
#define SPROF_MODULE_DEBUG_FILES_H

#include <stdbool.h>

#include "core/rights/debug_trust.h"
#include "sampler/target/mapped_file.h"
#include "sampler/unwind/debug_frame.h"

struct module_debug_files {
	struct debug_files files;
	struct mapped_root root;
	const char *path; /* of the mapped file; NULL: only our debug directory is searched */
	struct debug_trust trust;
	bool by_link; /* one was opened whose name .gnu_debuglink has */
};

/*
 * `fd` is the mapped file. Processes of several users may map it, and the root is that of one of
 * them. So a debug file counts only if it belongs to the owner of the mapped file or to root, and
 * others cannot write it, whatever the root.
 */
void module_debug_files_init(struct module_debug_files *files, int fd,
			     const struct mapped_root *root, const char *path);

#endif
