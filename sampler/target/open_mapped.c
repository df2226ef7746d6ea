/*
 * The kernel's link to a mapped file is the best name; the path that the mapping had comes next, in
 * the root of the process. Everything goes through core/base/safe_open.h, because a process can map
 * what it likes and put what it likes at the path afterwards.
 */
#include "sampler/target/open_mapped.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/safe_open.h"

/* Takes over fd; ESTALE where it is not the file with that inode (0: any). */
static int check_inode(int fd, uint64_t ino)
{
	struct stat st;

	if (fd < 0 || !ino || (!fstat(fd, &st) && st.st_ino == ino))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Does the link in /proc/PID/map_files name the file that the mapping had? */
static bool link_names(const char *link, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target));

	return n > 0 && (size_t)n == strlen(path) && !memcmp(target, path, (size_t)n);
}

/*
 * The link in map_files is the best name of a mapped file: it is right for deleted and replaced
 * files and in every mount namespace. But another file may be mapped there by now: it must have the
 * inode that was seen, or the name (overlay file systems show inodes of their own).
 */
static int open_map_file(const struct file_mapping *m)
{
	char *link = xasprintf("/proc/%d/map_files/%lx-%lx", (int)m->pid, (unsigned long)m->start,
			       (unsigned long)m->end);
	int fd = check_inode(safe_open(link, SAFE_OPEN_ELF_MAX), m->ino);

	if (fd < 0 && link_names(link, m->path))
		fd = safe_open(link, SAFE_OPEN_ELF_MAX);
	free(link);
	return fd;
}

/* Opens the path as the process sees it: no link leads out of its root. */
static int open_in_its_root(const struct file_mapping *m)
{
	int root = safe_open_root_of(m->pid), fd;

	if (root < 0)
		return root;
	fd = check_inode(safe_open_in_root(root, m->path, SAFE_OPEN_ELF_MAX), m->ino);
	close(root);
	return fd;
}

int open_mapped(const struct file_mapping *m)
{
	int fd = open_map_file(m);

	if (fd < 0)
		fd = open_in_its_root(m);
	if (fd < 0 && m->path[0] == '/')
		fd = check_inode(safe_open(m->path, SAFE_OPEN_ELF_MAX), m->ino);
	return fd;
}

bool open_mapped_in_our_root(const struct file_mapping *m)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)m->pid);
	if (!stat("/", &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino)
		return true;
	/* The process has ended, or may not be looked into: the same file at the same path will do. */
	return m->ino && m->path[0] == '/' && !stat(m->path, &ours) && ours.st_ino == m->ino;
}

int open_mapped_root(bool in_our_root, pid_t pid)
{
	return safe_open_root_of(in_our_root ? 0 : pid);
}
