/*
 * A mount is trusted if a trusted mount namespace lists it, and not as a user's FUSE server. The
 * target's namespace is checked before and after its list is read: a process that has left a
 * trusted namespace for one of its own cannot come back.
 */
#include "core/untrusted/target_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/rights/own_mounts.h"
#include "core/rights/safe_open.h"
#include "core/untrusted/remote_read.h"

static uint64_t nr_refused; /* atomic: several threads open files */

/* Is the user namespace ours, or made by the user who runs us? */
static bool is_trusted_user_namespace(int fd)
{
	struct stat own, st;
	uid_t owner;

	if (stat("/proc/self/ns/user", &own) || fstat(fd, &st))
		return false;
	if (own.st_dev == st.st_dev && own.st_ino == st.st_ino)
		return true;
	return !ioctl(fd, NS_GET_OWNER_UID, &owner) && owner == getuid();
}

/* The inode of the process's mount namespace, if it is trusted; otherwise 0. */
static ino_t trusted_namespace(pid_t pid)
{
	int fd = remote_open_file(pid, "ns/mnt", O_RDONLY), user = -1;
	bool is_trusted = false;
	struct stat st;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st))
		user = ioctl(fd, NS_GET_USERNS);
	if (user >= 0) {
		is_trusted = is_trusted_user_namespace(user);
		close(user);
	}
	close(fd);
	return is_trusted ? st.st_ino : 0;
}

/* Reads what the target's mount namespace says of a mount; nothing if it is not trusted. */
static struct mount_facts facts_of_target(pid_t pid, int path_fd)
{
	ino_t before = trusted_namespace(pid);
	struct mount_facts facts = { 0 };
	int number = mount_number(path_fd);
	FILE *f = before && number >= 0 ? remote_open(pid, "mountinfo") : NULL;

	if (!f)
		return facts;
	facts = mount_facts_read(f, number);
	fclose(f);
	return trusted_namespace(pid) == before ? facts : (struct mount_facts){ 0 };
}

/* `mount` is the answer of mount_trust(). */
static bool is_trusted(enum mount_trust mount, const struct mount_facts *facts)
{
	return mount == MOUNT_TRUSTED ||
	       (mount == MOUNT_FOREIGN && facts->is_listed && !facts->is_served);
}

int target_mounts_open(pid_t pid, int path_fd, uint64_t size_max)
{
	enum mount_trust mount = mount_trust(path_fd);
	struct mount_facts facts = { 0 };

	if (mount == MOUNT_FOREIGN)
		facts = facts_of_target(pid, path_fd);
	if (is_trusted(mount, &facts))
		return safe_open_trusted(path_fd, size_max);
	__atomic_add_fetch(&nr_refused, 1, __ATOMIC_RELAXED);
	return -EPERM;
}

int target_mounts_open_exe(pid_t pid)
{
	int link = remote_open_link(pid, "exe"), fd;

	if (link < 0)
		return link;
	fd = target_mounts_open(pid, link, SAFE_OPEN_ELF_MAX);
	close(link);
	return fd;
}

int target_mounts_open_root(pid_t pid)
{
	int root = remote_open_file(pid, "root", O_PATH | O_DIRECTORY);
	struct mount_facts facts;

	if (root < 0)
		return root;
	if (mount_root_is_own(root))
		return safe_open_mark(root);
	facts = facts_of_target(pid, root);
	if (facts.is_listed && !facts.has_served)
		return safe_open_mark(root);
	if (is_trusted(mount_trust(root), &facts))
		return root;
	close(root);
	return -EPERM;
}

void target_mounts_report(void)
{
	uint64_t nr = __atomic_exchange_n(&nr_refused, 0, __ATOMIC_RELAXED);

	if (nr)
		log_warning("files on FUSE and overlay file systems that users have mounted are "
			    "not opened (refused %" PRIu64 " times): they have no names",
			    nr);
}
