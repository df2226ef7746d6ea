/*
 * All answers come from the kernel's own memory. Most mounts are known by one system call, from the
 * device number or the handle of a file; for the others, the number of the mount is read from
 * /proc/self/fdinfo and its kind from mountinfo, which takes a hundred times as long.
 */
#include "core/rights/own_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int mount_number(int fd)
{
	char path[48], *line = NULL;
	int number = -ENOENT;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (number < 0 && getline(&line, &size, f) > 0)
		if (sscanf(line, "mnt_id: %d", &number) != 1)
			number = -ENOENT;
	free(line);
	fclose(f);
	return number;
}

/*
 * A line of mountinfo (proc(5)): "36 35 98:0 / /mnt rw,noatime master:1 - fuse.sshfs host:
 * OPTIONS". A space in a field is written as \040. The user chose the text before the options.
 */
static bool is_served_by_another(const char *line)
{
	const char *type = strstr(line, " - "), *source, *user;
	unsigned long uid;

	if (!type || strncmp(type + 3, "fuse", 4))
		return false;
	source = strchr(type + 3, ' ');
	user = source ? strchr(source + 1, ' ') : NULL;
	user = user ? strstr(user, ",user_id=") : NULL;
	uid = user ? strtoul(user + 9, NULL, 10) : 0;
	return uid && uid != getuid();
}

struct mount_facts mount_facts_read(FILE *mountinfo, int number)
{
	struct mount_facts facts = { 0 };
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, mountinfo) > 0) {
		bool is_served = is_served_by_another(line);

		facts.has_served |= is_served;
		if (strtol(line, NULL, 10) != number)
			continue;
		facts.is_listed = true;
		facts.is_served = is_served;
	}
	free(line);
	return facts;
}

struct mount_facts mount_facts_own(int number)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount_facts facts = { 0 };

	if (!f)
		return facts;
	facts = mount_facts_read(f, number);
	fclose(f);
	return facts;
}

/* A root that is no mount point, after chroot(2), is not listed: mount numbers are compared. */
static bool is_mount_of_our_root(int number)
{
	int root = open("/", O_PATH | O_CLOEXEC);
	bool is = root >= 0 && mount_number(root) == number;

	if (root >= 0)
		close(root);
	return is;
}

/*
 * Does the file system give handles, and not those of FUSE or an overlay? These two give none by
 * default; tmpfs, btrfs and NFS do (fs/fuse/inode.c and fs/overlayfs of the kernel).
 */
static bool has_plain_handle(int fd)
{
	enum { FUSE_HANDLE = 0x81, FUSE_HANDLE_WITH_PARENT = 0x82, OVERLAY_FIRST = 0xf8 };
	union {
		struct file_handle head;
		char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int number;

	return !name_to_handle_at(fd, "", &handle.head, &number, AT_EMPTY_PATH) &&
	       handle.head.handle_type != FUSE_HANDLE &&
	       handle.head.handle_type != FUSE_HANDLE_WITH_PARENT &&
	       handle.head.handle_type < OVERLAY_FIRST;
}

static bool device_of(int fd, struct statx *ret)
{
	return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, ret);
}

/*
 * Files with the number of a device are on neither FUSE nor an overlay: both have made-up numbers.
 * AT_STATX_DONT_SYNC: a FUSE server is not asked.
 */
static bool is_on_device(int fd)
{
	struct statx st;

	return device_of(fd, &st) && st.stx_dev_major;
}

/*
 * Is the file on the kernel's mount of memfds? No list has that mount, and a container engine may
 * refuse name_to_handle_at(2). Files of FUSE or an overlay have other device numbers.
 */
static bool is_memory_of_the_kernel(int fd)
{
	int ours = memfd_create("sprof", MFD_CLOEXEC);
	struct statx a, b;
	bool is;

	if (ours < 0)
		return false;
	is = device_of(ours, &a) && device_of(fd, &b) && a.stx_dev_major == b.stx_dev_major &&
	     a.stx_dev_minor == b.stx_dev_minor;
	close(ours);
	return is;
}

enum mount_trust mount_trust(int fd)
{
	struct mount_facts facts;
	int number;

	if (is_on_device(fd) || has_plain_handle(fd) || is_memory_of_the_kernel(fd))
		return MOUNT_TRUSTED;
	number = mount_number(fd);
	if (number < 0)
		return MOUNT_FOREIGN;
	facts = mount_facts_own(number);
	if (facts.is_served)
		return MOUNT_SERVED;
	return facts.is_listed || is_mount_of_our_root(number) ? MOUNT_TRUSTED : MOUNT_FOREIGN;
}

bool mount_root_is_own(int fd)
{
	int number = mount_number(fd);
	struct mount_facts facts;

	if (number < 0)
		return false;
	facts = mount_facts_own(number);
	return !facts.has_served && (facts.is_listed || is_mount_of_our_root(number));
}
