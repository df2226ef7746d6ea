/*
 * Which debug files are believed about a module. Any user can run another one's program in a root
 * directory of their own, with a false debug file of the same build-id. It would then apply to all
 * users' processes that map the module: samples would be named and unwound by it, and probes put
 * where it says. So a debug file is used only if its writer could also have written the module.
 */
#ifndef SPROF_DEBUG_TRUST_H
#define SPROF_DEBUG_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

struct debug_trust {
	bool is_own_root; /* the module's root directory is the recorder's, with the same mounts */
	bool for_probes;
	/* The module's owner and mode; without has_module only debug files of root are used. */
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
 * For names, every file of the recorder's own root may be used, because it was found through the
 * module. In another root, the file must belong to the module's owner or to root. For probes, the
 * file must belong to the module's owner; files of root are used only in the recorder's own root,
 * because root of a container owns files there, but shares the image's files with other containers.
 */
bool debug_trust_allows(const struct debug_trust *trust, int fd);

#endif
