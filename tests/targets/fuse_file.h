/*
 * What targets share that serve a FUSE file system with one file: node 1 is its root, node 2 the
 * file. Which requests are answered, and when, is each target's own.
 */
#ifndef SPROF_FUSE_FILE_H
#define SPROF_FUSE_FILE_H

#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

#endif
