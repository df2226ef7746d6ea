/*
 * served_overlay DEVICE FOLDER: an ordinary user's process that has mapped code from an overlay
 * over a FUSE file system, both mounted in a user namespace of its own. As soon as the mapping is
 * there, the FUSE server answers nothing more, so whoever asks the overlay about the file waits
 * until the server ends, after 12 seconds at the latest. DEVICE is /dev/fuse, or a node like it.
 * FOLDER is covered by the mounts.
 *
 * Prints "ready" when that is so, and works. Exits with status 77 if it may not do that.
 */
#include "tests/targets/fuse_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_S 12

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		cannot(path);
	close(fd);
}

static void enter_namespaces(void)
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

/* ---- the server of one file */

static void serve(int fd, const int *is_mapped)
{
	static char request[FUSE_MIN_READ_BUFFER + FILE_SIZE];
	const struct fuse_in_header *in = (const void *)request;

	while (read(fd, request, sizeof(request)) > 0) {
		struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
					      .minor = 31,
					      .max_write = PAGE };
		struct fuse_entry_out entry = { .nodeid = 2, .attr = attributes(2) };
		struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
		struct fuse_open_out open = { .fh = 1 };
		struct fuse_statfs_out statfs = { .st = { .namelen = 255, .bsize = PAGE } };

		/* The answer to FUSE_FLUSH lets this process end when it is killed. */
		if (__atomic_load_n(is_mapped, __ATOMIC_ACQUIRE) && in->opcode != FUSE_FLUSH)
			continue;
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
	_exit(0);
}

static void make_folder(const char *name)
{
	if (mkdir(name, 0755))
		cannot(name);
}

/* Mounts both in `place`; the server ends with this process. */
static void mount_both(int device, const char *place, const int *is_mapped)
{
	char options[128];

	if (mount("tmpfs", place, "tmpfs", 0, NULL) || chdir(place))
		cannot("tmpfs");
	make_folder("served");
	make_folder("lower");
	make_folder("overlay");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("served", "served", "fuse", MS_NOSUID | MS_NODEV, options))
		cannot("FUSE");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(END_S);
		serve(device, is_mapped);
	}
	close(device);
	if (mount("overlay", "overlay", "overlay", 0, "lowerdir=served:lower"))
		cannot("overlay");
}

int main(int argc, char **argv)
{
	int *is_mapped =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int device, fd;

	if (argc != 3 || is_mapped == MAP_FAILED)
		return 2;
	alarm(END_S);
	enter_namespaces();
	device = open(argv[1], O_RDWR | O_CLOEXEC);
	if (device < 0)
		cannot(argv[1]);
	mount_both(device, argv[2], is_mapped);
	fd = open("overlay/file", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		cannot("overlay/file");
	__atomic_store_n(is_mapped, 1, __ATOMIC_RELEASE);
	puts("ready");
	fflush(stdout);
	for (volatile unsigned i = 0;; i++)
		;
}
