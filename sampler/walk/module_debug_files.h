/*
 * Opens the candidates for the separate debug file of a mapped file: by build-id in the debug
 * directory of the root where it was mapped and in ours, then by .gnu_debuglink in that root.
 */
#ifndef SPROF_MODULE_DEBUG_FILES_H
#define SPROF_MODULE_DEBUG_FILES_H

#include <stdbool.h>

#include "sampler/target/mapped_file.h"
#include "sampler/unwind/debug_frame.h"

struct module_debug_files {
	struct debug_files files;
	struct mapped_root root;
	const char *path; /* of the mapped file; NULL: only our debug directory is searched */
	int fd;		  /* the mapped file */
	bool by_link;	  /* one was opened whose name .gnu_debuglink has */
	char link[DEBUG_NAME_MAX]; /* that name, if it was looked for; else "" */
};

/*
 * `fd` is the mapped file and must stay open. Processes of several users may map it, and the root
 * is that of one of them. So a debug file counts only if core/rights/debug_trust.h allows it for
 * names in a root that is not the recorder's, whichever root it is in.
 */
void module_debug_files_init(struct module_debug_files *files, int fd,
			     const struct mapped_root *root, const char *path);

#endif
