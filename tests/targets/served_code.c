/*
 * served_code DEVICE FOLDER [USER]: a process that has mapped code from a file that a FUSE server
 * of its own serves. As soon as the mapping is there, the server answers nothing more, so whoever
 * asks about the file waits until the server ends, after 12 seconds at the latest. DEVICE is
 * /dev/fuse, or a node like it. FOLDER is covered by the mounts.
 *
 * Without USER, an ordinary user mounts the file system in a user namespace, and an overlay over
 * it: the code is mapped from the overlay. With USER, root mounts it for that user with the option
 * allow_other, as fusermount(1) does.
 *
 * Prints "ready" when that is so, and works. Exits with status 77 if it may not do that.
 */
#include "tests/targets/fuse_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define END_S 12

static void serve(int fd, const int *is_mapped)
{
	static char request[FUSE_REQUEST_SIZE];
	const struct fuse_in_header *in = (const void *)request;

	/* The answer to FUSE_FLUSH lets this process end when it is killed. */
	while (read(fd, request, sizeof(request)) > 0)
		if (!__atomic_load_n(is_mapped, __ATOMIC_ACQUIRE) || in->opcode == FUSE_FLUSH)
			answer_as_usual(fd, in);
	_exit(0);
}

static void make_folder(const char *name)
{
	if (mkdir(name, 0755))
		cannot(name);
}

static void start_server(int device, const int *is_mapped)
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(END_S);
		serve(device, is_mapped);
	}
	close(device);
}

/* Mounts both in `place`. */
static void mount_overlay(int device, const char *place, const int *is_mapped)
{
	if (mount("tmpfs", place, "tmpfs", 0, NULL) || chdir(place))
		cannot("tmpfs");
	make_folder("served");
	make_folder("lower");
	make_folder("overlay");
	mount_served(device, "served", 0, "");
	start_server(device, is_mapped);
	if (mount("overlay", "overlay", "overlay", 0, "lowerdir=served:lower") || chdir("overlay"))
		cannot("overlay");
}

static void mount_for(unsigned user, int device, const char *place, const int *is_mapped)
{
	mount_served(device, place, user, ",allow_other");
	start_server(device, is_mapped);
	if (chdir(place))
		cannot(place);
}

int main(int argc, char **argv)
{
	int *is_mapped =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int device, fd;

	if (argc < 3 || argc > 4 || is_mapped == MAP_FAILED)
		return 2;
	alarm(END_S);
	if (argc == 3)
		enter_namespaces();
	device = open(argv[1], O_RDWR | O_CLOEXEC);
	if (device < 0)
		cannot(argv[1]);
	if (argc == 3)
		mount_overlay(device, argv[2], is_mapped);
	else
		mount_for((unsigned)strtoul(argv[3], NULL, 10), device, argv[2], is_mapped);
	fd = open("file", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		cannot("file");
	__atomic_store_n(is_mapped, 1, __ATOMIC_RELEASE);
	puts("ready");
	fflush(stdout);
	for (volatile unsigned i = 0;; i++)
		;
}
