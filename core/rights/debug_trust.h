/*
 * Which debug files may say what is in a module. Any user can run somebody else's program or
 * library in a root directory of their own and put a debug file with its build-id there. What that
 * file says would then hold for the processes of all users that map the module: their samples
 * would be named and unwound by it, and probes would be put where it says. So a debug file is used
 * if whoever wrote it could as well have written the module.
 */
#ifndef SPROF_DEBUG_TRUST_H
#define SPROF_DEBUG_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

struct debug_trust {
	bool is_own_root; /* the module's root directory is the recorder's, with the same mounts */
	bool for_probes;
	/* Of the module; without one (has_module is false) only files of root are used. */
	bool has_module;
	uid_t uid;
	gid_t gid;
	mode_t mode;
	dev_t dev;
};

/* `root` and `own_root` are descriptors of safe_open_root_of(), `module` one of a file; or -1. */
struct debug_trust debug_trust_new(int module, int root, int own_root, bool for_probes);

/*
 * May the file that was opened in the module's root be used?
 *
 * For names, every file of the recorder's own root may, because the way there leads through the
 * module. In another root the file must belong to the module's owner or to root. For probes the
 * owner counts in every root, and files of root count only in the recorder's own: the superuser of
 * a container owns its files, but shares the files of its image with other containers.
 */
bool debug_trust_allows(const struct debug_trust *trust, int fd);

#endif
