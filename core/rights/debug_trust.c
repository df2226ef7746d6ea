/*
 * Owners are numbers of our user namespace, so root of another one is not root here. A FUSE server
 * can name any owner, so it is believed only for modules on the same file system.
 */
#include "core/rights/debug_trust.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Compares also the number of the mount (since Linux 5.8), which tells mount namespaces apart. */
static bool is_same_root(int root, int own_root)
{
	const unsigned wanted = STATX_INO | STATX_MNT_ID;
	struct statx a, b;

	if (root < 0 || own_root < 0 || statx(root, "", AT_EMPTY_PATH, wanted, &a) ||
	    statx(own_root, "", AT_EMPTY_PATH, wanted, &b))
		return false;
	return (a.stx_mask & b.stx_mask & STATX_MNT_ID) && a.stx_mnt_id == b.stx_mnt_id &&
	       a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major &&
	       a.stx_dev_minor == b.stx_dev_minor;
}

struct debug_trust debug_trust_new(int module, int root, int own_root, bool for_probes)
{
	struct debug_trust trust = {
		.is_own_root = is_same_root(root, own_root),
		.for_probes = for_probes,
	};
	struct stat st;

	if (module >= 0 && !fstat(module, &st)) {
		trust.has_module = true;
		trust.uid = st.st_uid;
		trust.gid = st.st_gid;
		trust.mode = st.st_mode;
		trust.dev = st.st_dev;
	}
	return trust;
}

/* Can a user who is not the owner write the file, but not the module? */
static bool others_write(const struct debug_trust *trust, const struct stat *st)
{
	bool group_writes_module = trust->has_module && (trust->mode & S_IWGRP) &&
				   trust->gid == st->st_gid && trust->uid == st->st_uid;

	return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && !group_writes_module);
}

bool debug_trust_allows(const struct debug_trust *trust, int fd)
{
	struct statfs fs;
	struct stat st;

	if (trust->is_own_root && !trust->for_probes)
		return true;
	if (fstat(fd, &st) || fstatfs(fd, &fs) || others_write(trust, &st))
		return false;
	if (fs.f_type == FUSE_SUPER_MAGIC && !(trust->has_module && st.st_dev == trust->dev))
		return false;
	if (!st.st_uid)
		return trust->is_own_root || !trust->for_probes;
	return trust->has_module && st.st_uid == trust->uid;
}
