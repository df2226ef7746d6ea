/*
 * What targets share that serve a FUSE file system with one file: node 1 is its root, node 2 the
 * file. Which requests are answered, and when, is each target's own.
 */
#ifndef SPROF_FUSE_FILE_H
#define SPROF_FUSE_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u
#define FILE_SIZE (1u << 20)

/* Ends a target that may not do what it is for: its test skips. */
static inline _Noreturn void cannot(const char *what)
{
	perror(what);
	exit(77);
}

/* Answers a request. The server ends where that fails. */
static inline void answer(int fd, uint64_t unique, int error, const void *bytes, size_t size)
{
	struct fuse_out_header head = { (uint32_t)(sizeof(head) + size), -error, unique };
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)bytes, size } };

	if (writev(fd, parts, 2) < 0)
		_exit(1);
}

static inline struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == 1 ? 0 : FILE_SIZE,
				   .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
				   .nlink = 1 };
}

/* The buffer that requests are read into. */
#define FUSE_REQUEST_SIZE (FUSE_MIN_READ_BUFFER + FILE_SIZE)

/* Gives a request the answer of a file system that works, but has no content. */
static inline void answer_as_usual(int fd, const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_write = PAGE };
	struct fuse_entry_out entry = { .nodeid = 2, .attr = attributes(2) };
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out open = { .fh = 1 };
	struct fuse_statfs_out statfs = { .st = { .namelen = 255, .bsize = PAGE } };

	switch (in->opcode) {
	case FUSE_INIT: answer(fd, in->unique, 0, &init, sizeof(init)); break;
	case FUSE_LOOKUP: answer(fd, in->unique, 0, &entry, sizeof(entry)); break;
	case FUSE_GETATTR: answer(fd, in->unique, 0, &attr, sizeof(attr)); break;
	case FUSE_STATFS: answer(fd, in->unique, 0, &statfs, sizeof(statfs)); break;
	case FUSE_OPENDIR:
	case FUSE_OPEN: answer(fd, in->unique, 0, &open, sizeof(open)); break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT: break;
	default: answer(fd, in->unique, ENOSYS, NULL, 0);
	}
}

static inline void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		cannot(path);
	close(fd);
}

/* A user and a mount namespace of its own, in which an ordinary user may mount FUSE. */
static inline void enter_namespaces(void)
{
	unsigned uid = getuid(), gid = getgid();
	char map[32];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		cannot("user namespace");
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
	if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cannot("mount");
}

/* `device` is /dev/fuse, opened; `more` are further options of the mount: ",allow_other". */
static inline void mount_served(int device, const char *folder, unsigned user, const char *more)
{
	char options[128];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=0%s", device,
		 user, more);
	if (mount("served", folder, "fuse", MS_NOSUID | MS_NODEV, options))
		cannot("FUSE");
}

#endif
