/*
 * Whose mount is it? It matters for file systems that a user can mount and answer for himself: FUSE
 * servers, and overlays, whose kernel code works with the rights of the user who mounted them, so
 * that one may lie over a FUSE server. A server that does not answer holds up whoever asks: root's
 * open(2), fstat(2) and close(2) wait for it, and no signal ends that wait.
 *
 * Mounts of our own mount namespace are trusted, but for those of FUSE servers of other users (the
 * option allow_other of fusermount(1)). None of these functions makes a request to the file system
 * that it is asked about: fstatfs(2) would be one.
 */
#ifndef SPROF_OWN_MOUNTS_H
#define SPROF_OWN_MOUNTS_H

#include <stdbool.h>
#include <stdio.h>

enum mount_trust {
	MOUNT_TRUSTED,
	MOUNT_SERVED,  /* a FUSE server of another user answers for it */
	MOUNT_FOREIGN, /* FUSE, an overlay or unknown, and not of our mount namespace */
};

/* `fd` may be a descriptor of O_PATH. */
enum mount_trust mount_trust(int fd);

/* The number of its mount, as in mountinfo; or -errno. Numbers are reused after an unmount. */
int mount_number(int fd);

/*
 * What a mount namespace says of a mount, and of all of them. `mountinfo` is the file of that name
 * of a process in it.
 */
struct mount_facts {
	bool is_listed;	 /* the mount with the number */
	bool is_served;	 /* that mount is a FUSE server's of another user */
	bool has_served; /* any mount of the namespace is */
};
struct mount_facts mount_facts_read(FILE *mountinfo, int number);

/* The same for the mount namespace of this process. */
struct mount_facts mount_facts_own(int number);

/*
 * Is it in the mount namespace of this process, below its root, and is no mount there served by
 * another user? Then paths may be looked up in it without a look at each of their parts.
 */
bool mount_root_is_own(int fd);

#endif
