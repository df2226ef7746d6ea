/*
 * The one way to open a file whose path a target, a recording or another file chose. Opening is an
 * act in itself: it arms a watchdog, takes a lock of a driver, waits at a FIFO. So the path is
 * first opened with O_PATH, which touches nothing, and the file behind it is opened only if it is a
 * regular file of a real file system and no larger than the caller can use.
 *
 * Every descriptor is close-on-exec and is the caller's. All functions return -errno on failure:
 * -EPERM where the file is none of those that are opened, -EFBIG where it is too large, -EAGAIN
 * where its owner holds a lease on it, and otherwise what openat(2) gives.
 */
#ifndef SPROF_SAFE_OPEN_H
#define SPROF_SAFE_OPEN_H

#include <stdint.h>
#include <sys/types.h>

#define SAFE_OPEN_ELF_MAX (64ull << 30) /* bytes; limit for ELF files, which are read in parts */

/*
 * Opens `path` for reading as this process sees it. Links are followed, those of
 * /proc/PID/map_files too, so this is for paths that the file system of this process may answer.
 */
int safe_open(const char *path, uint64_t size_max);

/* The same, but a symbolic link at the end of the path is refused with -ELOOP. */
int safe_open_no_link(const char *path, uint64_t size_max);

/*
 * Opens `path` inside a root directory: ".." and absolute links stay in it. Where the kernel or a
 * seccomp filter refuses openat2(2), the path is walked part by part, with the same result.
 * `root` is a descriptor of safe_open_root_of() or of any directory.
 */
int safe_open_in_root(int root, const char *path, uint64_t size_max);
int safe_open_in_root_no_link(int root, const char *path, uint64_t size_max);

/* Opens the root directory of a process (0: this one) to start from in the functions above. */
int safe_open_root_of(pid_t pid);

/*
 * Opens for reading what an O_PATH descriptor refers to, after the same checks. The O_PATH
 * descriptor stays open.
 */
int safe_open_again(int path_fd, uint64_t size_max);

/*
 * Takes over a descriptor, or an error, of the functions above. Returns it if the file begins as
 * ELF files do; otherwise -ENOEXEC: a secret that is no ELF file must not come out as part of one.
 */
int safe_open_only_elf(int fd);

#endif
