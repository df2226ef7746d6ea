/*
 * The kernel's link to a mapped file is the best name; the path that the mapping had comes next, in
 * the root of the process. Everything goes through core/rights/safe_open.h, because a process can
 * map what it likes and put what it likes at the path afterwards.
 */
#include "sampler/target/open_mapped.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/rights/privileges.h"
#include "core/rights/safe_open.h"
#include "core/untrusted/remote_read.h"
#include "core/untrusted/target_mounts.h"

#define RETRY_NS NS_PER_S /* after the first try to open a file; doubles with each further one */
#define MAX_RETRY_SHIFT 4
#define TRIES_AT_ONCE 4 /* to open a file that is gone */

/* Has the file the name that the mapping had? */
static bool is_named(int fd, const char *path)
{
	char link[32], target[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target));
	return n > 0 && (size_t)n == strlen(path) && !memcmp(target, path, (size_t)n);
}

/*
 * Is it the file that was seen? Files of btrfs and of overlay file systems show other devices than
 * their mappings do, and those of overlays perhaps another inode; then a name counts, if it is that
 * of a mapping.
 */
static bool is_seen_file(int fd, const struct file_mapping *m, bool of_mapping)
{
	struct statfs fs;
	struct stat st;

	if (!m->ino)
		return true;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return false;
	switch ((unsigned long)fs.f_type) {
	case BTRFS_SUPER_MAGIC: return st.st_ino == m->ino && !major(m->dev);
	case OVERLAYFS_SUPER_MAGIC:
		return st.st_ino == m->ino || (of_mapping && is_named(fd, m->path));
	default: return st.st_ino == m->ino && st.st_dev == m->dev;
	}
}

/* Takes over fd; ESTALE where it is another file. */
static int check(int fd, const struct file_mapping *m, bool of_mapping)
{
	if (fd < 0 || is_seen_file(fd, m, of_mapping))
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * The link in map_files is the best name of a mapped file: it is right for deleted and replaced
 * files and in every mount namespace. But another file may be mapped there by now. The kernel takes
 * the lock of the target's memory for the link, so the lookup may never return.
 */
static int open_map_file(const struct file_mapping *m)
{
	char name[48];
	int link, fd;

	snprintf(name, sizeof(name), "map_files/%lx-%lx", (unsigned long)m->start,
		 (unsigned long)m->end);
	link = remote_open_link(m->pid, name);
	if (link < 0)
		return link;
	fd = check(target_mounts_open(m->pid, link, SAFE_OPEN_ELF_MAX), m, true);
	close(link);
	return fd;
}

/* Opens the path as the process sees it: no link leads out of its root. */
static int open_in_its_root(const struct file_mapping *m)
{
	int root = target_mounts_open_root(m->pid), fd;
	enum rights before;

	if (root < 0)
		return root;
	before = privileges_use(RIGHTS_OF_CALLER);
	fd = check(safe_open_in_root(root, m->path, SAFE_OPEN_ELF_MAX), m, false);
	privileges_use(before);
	close(root);
	return fd;
}

/*
 * The link in map_files leads to what is mapped. A path leads to what the target has put there by
 * now, so it is opened without borrowed rights.
 */
int open_mapped(const struct file_mapping *m)
{
	int fd = open_map_file(m);
	bool is_stale = fd == -ESTALE;
	enum rights before;

	if (fd < 0)
		fd = open_in_its_root(m);
	if (fd < 0 && m->path[0] == '/') {
		before = privileges_use(RIGHTS_OF_CALLER);
		fd = check(safe_open(m->path, SAFE_OPEN_ELF_MAX), m, false);
		privileges_use(before);
	}
	return fd < 0 && is_stale ? -ESTALE : fd;
}

/*
 * In /proc/PID/maps a path begins at our root where the file lies below it, so it leads through the
 * root of a process that has called chroot(2). Returns the length of that part.
 */
static size_t prefix_of_root(int fd, const char *path)
{
	char link[64], root[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, root, sizeof(root));

	return n > 1 && !strncmp(path, root, (size_t)n) && path[n] == '/' ? (size_t)n : 0;
}

/* As stat(2), which could wait in a mount of the target that a link in /proc leads to. */
static int stat_safely(const char *path, struct stat *st)
{
	int fd = safe_look_up(path), err;

	if (fd < 0)
		return fd;
	err = fstat(fd, st);
	close(fd);
	return err;
}

struct mapped_root mapped_root_of(const struct file_mapping *m)
{
	int fd = target_mounts_open_root(m->pid);
	struct stat ours, theirs;
	bool is_ours = fd >= 0 && !stat("/", &ours) && !fstat(fd, &theirs) &&
		       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
	size_t prefix = fd >= 0 && !is_ours ? prefix_of_root(fd, m->path) : 0;

	if (fd >= 0)
		close(fd);
	if (is_ours)
		return (struct mapped_root){ 0 };
	/*
	 * The same file at the same path: that is how paths of a process that has ended are known.
	 */
	if (m->ino && m->path[0] == '/' && !stat_safely(m->path, &ours) && ours.st_ino == m->ino)
		return (struct mapped_root){ .prefix = prefix };
	return (struct mapped_root){ .pid = m->pid };
}

int mapped_root_open(const struct mapped_root *root, const char *path)
{
	char *prefix;
	int fd;

	if (root->pid || !root->prefix)
		return root->pid ? target_mounts_open_root(root->pid) : safe_open_root_of(0);
	prefix = xasprintf("%.*s", (int)root->prefix, path);
	fd = safe_open_root_at(prefix);
	free(prefix);
	return fd;
}

/*
 * Mappings of all subvolumes of a btrfs show one device, and each subvolume numbers its files
 * itself. Everybody may make one, so a user can have a file with the device and inode of anybody
 * else's program. The file itself shows the device of its subvolume.
 */
static void tell_twins(struct mapped_file *file, const struct stat *st)
{
	struct statfs fs;

	file->has_twins = !fstatfs(file->fd, &fs) && fs.f_type == BTRFS_SUPER_MAGIC;
	if (file->has_twins)
		file->dev = st->st_dev;
}

/* The length of a mapping's path, without what the kernel adds to that of a deleted file. */
static size_t path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), suffix = sizeof(deleted) - 1;

	if (length > suffix && !strcmp(path + length - suffix, deleted))
		length -= suffix;
	return length;
}

static void count_try(struct mapped_file *file, uint64_t now)
{
	uint32_t shift = file->nr_tries < MAX_RETRY_SHIFT ? file->nr_tries : MAX_RETRY_SHIFT;

	file->nr_tries++;
	file->retry_ns = now + (RETRY_NS << shift);
}

void mapped_file_open(struct mapped_file *file, const struct file_mapping *m)
{
	struct stat st;

	file->kind = MODULE_ELF;
	file->path = xasprintf("%.*s", (int)path_length(m->path), m->path);
	count_try(file, monotonic_ns());
	file->fd = open_mapped(m);
	file->root = mapped_root_of(m);
	if (file->fd >= 0 && !fstat(file->fd, &st)) {
		file->changed = st.st_mtim;
		file->size_bytes = (uint64_t)st.st_size;
		tell_twins(file, &st);
	}
}

static bool has_path(const struct mapped_file *file, const char *path)
{
	size_t length = path_length(path);

	return strlen(file->path) == length && !memcmp(file->path, path, length);
}

/* Was the file deleted or replaced, or had its process ended, when it was to be opened? */
static bool is_gone(const struct mapped_file *file)
{
	return file->fd == -ENOENT || file->fd == -ESTALE || file->fd == -ESRCH;
}

/*
 * Is it time for one more try to open the file? A file that is refused stays so, and one that does
 * not answer costs a wait. But a file that is gone may be there for the next process, which maps it
 * only once: the first tries need not wait.
 */
static bool may_try(const struct mapped_file *file, uint64_t now)
{
	return now >= file->retry_ns || (is_gone(file) && file->nr_tries < TRIES_AT_ONCE);
}

bool mapped_file_needs_retry(struct mapped_file *file, const struct file_mapping *m)
{
	uint64_t now = monotonic_ns();
	int fd;

	/* One user's mapping that is gone must not keep the file from others. */
	if (file->fd == -ESTALE && file->user != m->user)
		return true;
	/* A new file may have the inode of a deleted one that is not open. */
	if (is_gone(file) && !has_path(file, m->path))
		return true;
	if (!may_try(file, now))
		return false;
	count_try(file, now);
	fd = open_mapped(m);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
