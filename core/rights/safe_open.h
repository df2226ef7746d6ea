/*
 * The one way to open a file whose path a target, a recording or another file chose. Opening is an
 * act in itself: it arms a watchdog, takes a lock of a driver, waits at a FIFO. So the path is
 * first opened with O_PATH, which touches nothing, and the file behind it is opened only if it is a
 * regular file of a real file system and no larger than the caller can use.
 *
 * Every descriptor is close-on-exec and is the caller's. All functions return -errno on failure:
 * -EPERM if such a file is not opened, -EFBIG if it is too large, -EAGAIN if its owner holds a
 * lease on it, and otherwise what openat(2) gives.
 */
#ifndef SPROF_SAFE_OPEN_H
#define SPROF_SAFE_OPEN_H

#include <stdint.h>
#include <sys/types.h>

#define SAFE_OPEN_ELF_MAX (64ull << 30) /* bytes; limit for ELF files, which are read in parts */

/*
 * Opens `path` for reading as this process sees it. Symbolic links are followed; a link like
 * /proc/PID/exe only at the end, because further parts would be looked up in mounts of others.
 */
int safe_open(const char *path, uint64_t size_max);

/* Looks up `path` in the same way. Returns an O_PATH descriptor on which fstat(2) is safe. */
int safe_look_up(const char *path);

/* As safe_open(), but a symbolic link at the end of the path is refused with -ELOOP. */
int safe_open_no_link(const char *path, uint64_t size_max);

/*
 * Opens `path` inside a root directory: ".." and absolute links stay in it. Where the kernel or a
 * seccomp filter refuses openat2(2), the path is walked part by part, with the same result.
 * `root` is a descriptor of safe_open_root_of() or of any directory.
 */
int safe_open_in_root(int root, const char *path, uint64_t size_max);
int safe_open_in_root_no_link(int root, const char *path, uint64_t size_max);

/* Opens the root directory of a process (0: this one) for the functions above. */
int safe_open_root_of(pid_t pid);
/* The same for a directory of our mount namespace. A link at the path's end is not followed. */
int safe_open_root_at(const char *path);

/*
 * Takes over the O_PATH descriptor of a root and returns it with a mark, which says that no user
 * can have mounted a file system of their own below it (own_mounts.h). In roots without the mark, a
 * path is walked part by part and refused (-EPERM) if it enters a mount that is not trusted.
 */
int safe_open_mark(int root);

/*
 * Opens for reading what an O_PATH descriptor refers to, after the same checks except that of the
 * mount, which the caller has made. The O_PATH descriptor stays open.
 */
int safe_open_trusted(int path_fd, uint64_t size_max);

/*
 * Takes over a descriptor, or an error, of the functions above. Returns it if the file begins as
 * ELF files do, otherwise -ENOEXEC, so that no other file's content can be shown as part of one.
 */
int safe_open_only_elf(int fd);

#endif
