/*
 * Whether a mount can be trusted to answer. A user can mount a FUSE server, or an overlay over one.
 * If such a server does not answer, even root's open(2), fstat(2) and close(2) wait for it, and no
 * signal ends that wait.
 *
 * Mounts of our own mount namespace are trusted, except for FUSE servers of other users (the option
 * allow_other of fusermount(1)). None of these functions makes a request to the file system in
 * question, as fstatfs(2) would.
 */
#ifndef SPROF_OWN_MOUNTS_H
#define SPROF_OWN_MOUNTS_H

#include <stdbool.h>
#include <stdio.h>

enum mount_trust {
	MOUNT_TRUSTED,
	MOUNT_SERVED,  /* served by a FUSE server of another user */
	MOUNT_FOREIGN, /* FUSE, an overlay or unknown, and not of our mount namespace */
};

/* `fd` may be a descriptor of O_PATH. */
enum mount_trust mount_trust(int fd);

/* The number of a file's mount, as in mountinfo; or -errno. An unmount frees it for reuse. */
int mount_number(int fd);

/*
 * What a mount namespace knows of one mount, and of all mounts. `mountinfo` is the file of that
 * name of a process in the namespace.
 */
struct mount_facts {
	bool is_listed;	 /* it has a mount with that number */
	bool is_served;	 /* that mount is served by a FUSE server of another user */
	bool has_served; /* any mount of the namespace is served so */
};
struct mount_facts mount_facts_read(FILE *mountinfo, int number);

/* The same for the mount namespace of this process. */
struct mount_facts mount_facts_own(int number);

/*
 * Is the root in the mount namespace of this process, below its root, with no mount served by
 * another user? Then paths may be looked up in it without a check of each part.
 */
bool mount_root_is_own(int fd);

#endif
