/*
 * Looks, then opens: an O_PATH descriptor holds the file itself, so what fstat(2) says is true of
 * the file that is then opened through /proc/self/fd, whatever happens to the path.
 *
 * On a file system that a user serves (own_mounts.h) even a lookup can hang, so no path of a target
 * is followed into one, and fstat(2) comes after that check.
 *
 * Opening or reading regular files of kernel file systems (/proc/kmsg, trace_pipe) has effects,
 * too; programs and debug files do not lie there, so all of these are refused.
 */
#include "core/rights/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/rights/own_mounts.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif

#define DEPTH_MAX 128 /* directories below the root */
#define LINKS_MAX 40  /* as in Linux */

/* File systems that linux/magic.h of Debian 12 does not name; fs/ of the kernel has them. */
#define CONFIGFS_MAGIC_NUMBER 0x62656570
#define FUSECTL_MAGIC_NUMBER 0x65735543
#define MQUEUE_MAGIC_NUMBER 0x19800202
#define PIDFS_MAGIC_NUMBER 0x50494446

static bool is_of_kernel(int fd)
{
	static const unsigned long kinds[] = {
		PROC_SUPER_MAGIC,      SYSFS_MAGIC,
		DEBUGFS_MAGIC,	       TRACEFS_MAGIC,
		SECURITYFS_MAGIC,      BPF_FS_MAGIC,
		CGROUP_SUPER_MAGIC,    CGROUP2_SUPER_MAGIC,
		SELINUX_MAGIC,	       SMACK_MAGIC,
		EFIVARFS_MAGIC,	       PSTOREFS_MAGIC,
		BINFMTFS_MAGIC,	       NSFS_MAGIC,
		DEVPTS_SUPER_MAGIC,    RDTGROUP_SUPER_MAGIC,
		CONFIGFS_MAGIC_NUMBER, FUSECTL_MAGIC_NUMBER,
		MQUEUE_MAGIC_NUMBER,   PIDFS_MAGIC_NUMBER,
	};
	struct statfs s;

	if (fstatfs(fd, &s))
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if ((unsigned long)s.f_type == kinds[i])
			return true;
	}
	return false;
}

int safe_open_trusted(int path_fd, uint64_t size_max)
{
	char name[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode) || is_of_kernel(path_fd))
		return -EPERM;
	if ((uint64_t)st.st_size > size_max)
		return -EFBIG;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	/* O_NONBLOCK: if the owner holds a lease, this fails with EAGAIN instead of waiting. */
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool may_not_be_asked(int path_fd)
{
	return mount_trust(path_fd) != MOUNT_TRUSTED;
}

/* Opens what was looked up, and closes path_fd. */
static int finish(int path_fd, uint64_t size_max)
{
	int fd;

	if (path_fd < 0)
		return path_fd;
	fd = safe_open_trusted(path_fd, size_max);
	close(path_fd);
	return fd;
}

/* ---- paths as this process sees them */

static int walk_in_root(int root, const char *path, bool follow_last);

/*
 * Looks a path up part by part, as a user's FUSE server may be on the way. Not in /proc, where
 * there is none and links must be followed as links, and not from our working directory.
 */
static int look_up_by_parts(const char *path, uint64_t flags)
{
	struct stat st;
	int root, fd;

	if (path[0] != '/' || !strncmp(path, "/proc/", 6) || !mount_facts_own(0).has_served)
		return -ENOSYS;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = walk_in_root(root, path, !(flags & O_NOFOLLOW));
	close(root);
	if (fd >= 0 && (flags & O_DIRECTORY) && (fstat(fd, &st) || !S_ISDIR(st.st_mode))) {
		close(fd);
		fd = -ENOTDIR;
	}
	return fd;
}

/* Looks a path up without links like /proc/PID/exe; without openat2(2) they are followed. */
static int look_up_without_magic(const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	/* EAGAIN: not cached, so a file system must be asked. EINVAL: before Linux 5.12. */
	if (errno == EAGAIN || errno == EINVAL) {
		fd = look_up_by_parts(path, flags);
		if (fd != -ENOSYS)
			return fd;
		how.resolve = RESOLVE_NO_MAGICLINKS;
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
		fd = open(path, (int)how.flags);
	return fd < 0 ? -errno : fd;
}

/* Looks up a path of which only the last part may be a link like /proc/PID/exe. */
static int look_up_magic(const char *path)
{
	const char *last = strrchr(path, '/');
	char parent[PATH_MAX];
	struct statfs fs;
	int folder, fd;

	if (!last || !last[1] || (size_t)(last - path) >= sizeof(parent))
		return -ELOOP;
	snprintf(parent, sizeof(parent), "%.*s", (int)(last - path), path);
	folder = look_up_without_magic(parent, O_DIRECTORY);
	if (folder < 0)
		return folder;
	if (may_not_be_asked(folder) || fstatfs(folder, &fs) || fs.f_type != PROC_SUPER_MAGIC)
		fd = -ELOOP;
	else if ((fd = openat(folder, last + 1, O_PATH | O_CLOEXEC)) < 0)
		fd = -errno;
	close(folder);
	return fd;
}

int safe_look_up(const char *path)
{
	int fd = look_up_without_magic(path, 0);

	if (fd == -ELOOP)
		fd = look_up_magic(path);
	if (fd >= 0 && may_not_be_asked(fd)) {
		close(fd);
		fd = -EPERM;
	}
	return fd;
}

int safe_open(const char *path, uint64_t size_max)
{
	return finish(safe_look_up(path), size_max);
}

int safe_open_no_link(const char *path, uint64_t size_max)
{
	return finish(look_up_without_magic(path, O_NOFOLLOW), size_max);
}

/*
 * ---- the walk inside a root, for hosts without openat2(2) and for roots in which users mount
 */

struct walk {
	int fds[DEPTH_MAX + 1]; /* fds[0]: the caller's, the root; the last: where we are */
	size_t depth;
	char rest[2 * PATH_MAX]; /* what is left of the path */
	int nr_links;
};

static void go_to_root(struct walk *w)
{
	while (w->depth)
		close(w->fds[w->depth--]);
}

/* Puts the target of the symbolic link `fd` before the rest of the path. */
static int take_link(struct walk *w, int fd)
{
	char target[PATH_MAX];
	size_t rest = strlen(w->rest);
	ssize_t n;

	if (++w->nr_links > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		return -errno;
	if (n == 0 || (size_t)n >= sizeof(target) || (size_t)n + 1 + rest >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, rest + 1);
	w->rest[n] = '/';
	memcpy(w->rest, target, (size_t)n);
	if (target[0] == '/')
		go_to_root(w);
	return 0;
}

/* Removes the first part of the path and copies it to `part`. Returns false if nothing is left. */
static bool next_part(struct walk *w, char part[NAME_MAX + 1], int *ret_err)
{
	size_t skip = strspn(w->rest, "/"), length = strcspn(w->rest + skip, "/");

	*ret_err = length > NAME_MAX ? -ENAMETOOLONG : 0;
	if (!length || *ret_err)
		return false;
	memcpy(part, w->rest + skip, length);
	part[length] = '\0';
	memmove(w->rest, w->rest + skip + length, strlen(w->rest + skip + length) + 1);
	return true;
}

static int enter(struct walk *w, int fd)
{
	if (w->depth == DEPTH_MAX) {
		close(fd);
		return -ENAMETOOLONG;
	}
	w->fds[++w->depth] = fd;
	return 0;
}

/* Goes one part further. ".." never gets here: a directory that was moved has another parent. */
static int step(struct walk *w, const char *part, bool follow_last)
{
	bool is_last = !w->rest[strspn(w->rest, "/")];
	struct stat st;
	int fd, err;

	if (!strcmp(part, "."))
		return 0;
	if (!strcmp(part, "..")) {
		if (w->depth)
			close(w->fds[w->depth--]);
		return 0;
	}
	fd = openat(w->fds[w->depth], part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (may_not_be_asked(fd)) {
		close(fd);
		return -EPERM;
	}
	if (fstat(fd, &st) || !S_ISLNK(st.st_mode))
		return enter(w, fd);
	err = is_last && !follow_last ? -ELOOP : take_link(w, fd);
	close(fd);
	return err;
}

static int walk_in_root(int root, const char *path, bool follow_last)
{
	struct walk w = { .fds = { root } };
	char part[NAME_MAX + 1];
	int err = 0, fd;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (may_not_be_asked(root))
		return -EPERM;
	strncpy(w.rest, path, sizeof(w.rest) - 1);
	while (!err && next_part(&w, part, &err))
		err = step(&w, part, follow_last);
	if (!err && !w.depth)
		err = -EISDIR;
	fd = err ? err : w.fds[w.depth--];
	go_to_root(&w);
	return fd;
}

/* ---- inside a root */

/* The mark is O_NOFOLLOW, which the kernel keeps in an O_PATH descriptor, without any effect. */
static bool is_marked(int root)
{
	int flags = fcntl(root, F_GETFL);

	return flags >= 0 && (flags & O_NOFOLLOW);
}

int safe_open_mark(int root)
{
	int fd = openat(root, ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return root;
	close(root);
	return fd;
}

static int look_up_in_root(int root, const char *path, bool follow_last)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (follow_last ? 0 : O_NOFOLLOW),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	if (!is_marked(root))
		return walk_in_root(root, path, follow_last);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	/* EAGAIN: something was renamed meanwhile, so the kernel cannot be sure of "..". */
	if (errno == ENOSYS || errno == EPERM || errno == EAGAIN)
		return walk_in_root(root, path, follow_last);
	return -errno;
}

int safe_open_in_root(int root, const char *path, uint64_t size_max)
{
	return finish(look_up_in_root(root, path, true), size_max);
}

int safe_open_in_root_no_link(int root, const char *path, uint64_t size_max)
{
	return finish(look_up_in_root(root, path, false), size_max);
}

int safe_open_root_of(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), pid ? "/proc/%d/root" : "/", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return mount_root_is_own(fd) ? safe_open_mark(fd) : fd;
}

int safe_open_root_at(const char *path)
{
	return look_up_without_magic(path, O_DIRECTORY | O_NOFOLLOW);
}

int safe_open_only_elf(int fd)
{
	char magic[4];

	if (fd < 0)
		return fd;
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    !memcmp(magic, "\177ELF", sizeof(magic)))
		return fd;
	close(fd);
	return -ENOEXEC;
}
